//go:build !windows

package tui

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// enableSequences has nothing to do: the terminal reads control sequences.
func enableSequences(*os.File) error { return nil }

// onResize calls f when the window changes its size, until stop.
func onResize(f func()) (stop func()) {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, unix.SIGWINCH)
	go func() {
		for range changes {
			f()
		}
	}()
	return func() {
		signal.Stop(changes)
		close(changes)
	}
}
