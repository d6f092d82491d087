//go:build unix

package tui

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	ours, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	read := make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		told := false
		for {
			n, err := ours.Read(buf)
			out.Write(buf[:n])
			if !told && strings.Contains(out.String(), "opening") {
				told = true
				close(shown)
			}
			if err != nil {
				return
			}
		}
	}()
	err = Run(t.Context(), Options{In: tty, Out: tty, Env: []string{"TERM=xterm-256color"}, Now: time.Now,
		Open: func(context.Context) (Desk, error) {
			<-shown
			panic("a fault of ours")
		}})
	tty.Close()
	<-read
	if err == nil || !strings.Contains(err.Error(), "the terminal broke") {
		t.Errorf("the error is %v", err)
	}
	for _, mode := range []string{"\x1b[?1049", "\x1b[?2004", "\x1b[?1002"} {
		if on, off := strings.LastIndex(out.String(), mode+"h"), strings.LastIndex(out.String(), mode+"l"); on < 0 || off < on {
			t.Errorf("%q was not taken back", mode)
		}
	}
}
