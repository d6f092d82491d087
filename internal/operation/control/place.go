package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/gofrs/flock"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// Place describes the files of the background kernel of one user, home and host:
//
//	<folder>/kernel.sock   the socket
//	<folder>/kernel.lock   locked while the kernel lives
//	<folder>/kernels       kernels that began and did not end in good order
//	<home>/server.log      the log, rotated
//
// The folder is in the user's runtime folder, or else in the folder for temporary files. logind removes
// the runtime folder at logout, and cron jobs do not know it. So a Place lists every folder that may be
// used, and the one whose lock is held wins.
type Place struct {
	home    string // real path
	folders []socketFolder
	folder  socketFolder // the one in use
}

type socketFolder struct {
	root    string // exists already
	private bool   // root must be the user's own
	path    string // root/outer/key
}

const socketName = "kernel.sock"

func (f socketFolder) socket() string  { return filepath.Join(f.path, socketName) }
func (f socketFolder) lock() string    { return filepath.Join(f.path, "kernel.lock") }
func (f socketFolder) kernels() string { return filepath.Join(f.path, "kernels") }

// runUser is the folder in which systemd keeps runtime folders. Tests replace it.
var runUser = "/run/user"

// FindPlace finds the place of the kernel for a home. It creates nothing. DENIED: another user owns the
// home, or the folder of the socket is a link or can be used by other users.
func FindPlace(getenv func(string) string, home string) (Place, error) {
	p := Place{home: realPath(home)}
	if info, err := os.Stat(p.home); err == nil && !isOwn(info) {
		return Place{}, fault.New(fault.Denied, "another user owns %s", p.home).
			WithHint("choose a home of your own with --home or RAMET_HOME")
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	sum := sha256.Sum256([]byte(host + "\x00" + p.home))
	key, uid := hex.EncodeToString(sum[:8]), fmt.Sprint(os.Geteuid())
	for _, root := range []string{getenv("XDG_RUNTIME_DIR"), filepath.Join(runUser, uid)} {
		p.folders = append(p.folders, socketFolder{root, true, filepath.Join(root, "ramet", key)})
	}
	for _, root := range []string{cmp.Or(getenv("TMPDIR"), os.TempDir()), "/tmp"} {
		p.folders = append(p.folders, socketFolder{root, false, filepath.Join(root, "ramet-"+uid, key)})
	}
	return p, p.chooseFolder()
}

// realPath resolves links in the part of a path that exists, so that a home has one name before and after
// it is created.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil || filepath.Dir(path) == path {
		return cmp.Or(real, path)
	}
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}

// chooseFolder picks the folder with a living kernel, or else the first one that can be used.
func (p *Place) chooseFolder() error {
	found := false
	for _, f := range p.folders {
		if !f.isUsable() {
			continue
		}
		switch err := f.check(); {
		case err != nil && !found:
			return err
		case err != nil:
		case isLocked(f.lock()):
			p.folder = f
			return nil
		case !found:
			p.folder, found = f, true
		}
	}
	if !found {
		return fault.New(fault.Failed, "there is no folder for the socket of the background kernel").
			WithHint("set XDG_RUNTIME_DIR or TMPDIR to a folder that exists")
	}
	return nil
}

// isUsable reports whether the root suits, and the path is not too long for the system.
func (f socketFolder) isUsable() bool {
	info, err := os.Stat(f.root)
	if err != nil || !info.IsDir() || !filepath.IsAbs(f.root) {
		return false
	}
	return (runtime.GOOS == "linux" || len(f.socket()) <= maxPath) && (!f.private || isOwn(info) && info.Mode().Perm()&0o077 == 0)
}

// check returns DENIED if the folders exist and are not private.
func (f socketFolder) check() error {
	for _, path := range []string{filepath.Dir(f.path), f.path} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err := durable.CheckPrivate(path); err != nil {
			return err
		}
	}
	return nil
}

func (f socketFolder) create() error {
	for _, path := range []string{filepath.Dir(f.path), f.path} {
		if err := step.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return durable.Failure("make folder", path, err)
		}
	}
	return f.check()
}

// Socket returns the path of the socket.
func (p Place) Socket() string { return p.folder.socket() }

// Log returns the path of the log.
func (p Place) Log() string { return filepath.Join(p.home, "server.log") }

// Alive reports whether a kernel holds the lock. One that starts or stops holds it without answering.
func (p Place) Alive() bool { return p.chooseFolder() == nil && isLocked(p.folder.lock()) }

// isLocked reports whether a process holds the lock exclusively. It probes with a shared lock, so that
// processes that probe do not see each other.
func isLocked(path string) bool {
	probe := flock.New(path, flock.SetFlag(os.O_RDONLY)) // creates nothing
	defer probe.Close()
	free, err := probe.TryRLock()
	return err == nil && !free
}

// Dial connects to the running kernel. If none runs, IsAbsent(err) is true.
func (p Place) Dial(ctx context.Context) (net.Conn, error) {
	if err := p.chooseFolder(); err != nil {
		return nil, err
	}
	conn, err := dialSocket(ctx, p.Socket())
	switch {
	case IsAbsent(err):
		return nil, fault.New(fault.NotFound, "no background kernel is running: %w", err)
	case err != nil:
		return nil, fault.New(fault.Failed, "connect to the background kernel: %w", err)
	}
	return conn, nil
}

// IsAbsent reports whether Dial, or a request, failed because no kernel listens, or because the kernel ended before it
// answered: what it was asked is then not carried out.
func IsAbsent(err error) bool {
	for _, absent := range []error{fs.ErrNotExist, errRefused, io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, absent) {
			return true
		}
	}
	return false
}
