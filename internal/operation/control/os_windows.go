package control

import (
	"context"
	"io/fs"
	"net"
	"os"

	"ramet/internal/base/fault"
)

func (p Place) spawn(context.Context, Start) (*child, error) {
	return nil, fault.New(fault.Failed, "a background kernel cannot be started on this system yet")
}

// Ready does nothing: no process starts a kernel here.
func Ready(func(string) string) {}

// CheckLogout returns nothing: no kernel runs in the background here.
func CheckLogout(context.Context, func(string) string) (program, note string) { return "", "" }

func isOwn(fs.FileInfo) bool        { return true } // modes say nothing here
func isSameUser(*net.UnixConn) bool { return true }
func redirectOutput(*os.File)       {}
