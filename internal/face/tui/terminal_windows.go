package tui

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences lets a console read control sequences.
func enableSequences(f *os.File) error {
	var mode uint32
	if err := windows.GetConsoleMode(windows.Handle(f.Fd()), &mode); err != nil {
		return err
	}
	return windows.SetConsoleMode(windows.Handle(f.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING|windows.DISABLE_NEWLINE_AUTO_RETURN)
}

// onResize has nothing to do: a console reports its size as input.
func onResize(func()) (stop func()) { return func() {} }
