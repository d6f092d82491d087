package tui

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"ramet/internal/face/tui/markdown"
)

// drawing is a whole screen: its lines, how wide it is, and the place of the cursor; y is -1 without one.
type drawing struct {
	lines       []string
	width, x, y int
}

// canvas writes drawings to a terminal: of each, the lines that differ from those before.
type canvas struct {
	out    io.Writer
	colors bool // the terminal has some

	mu    sync.Mutex
	open  bool    // the screen is ours; guarded by mu, as all below
	shown drawing // what was written last
	known bool    // the terminal shows it
	buf   bytes.Buffer
}

func newCanvas(out io.Writer, env []string) canvas {
	return canvas{out: out, colors: colorprofile.Detect(out, env) > colorprofile.ASCII}
}

// forget has all of the next drawing written.
func (c *canvas) forget() {
	c.mu.Lock()
	c.known = false
	c.mu.Unlock()
}

// send writes a control sequence that changes nothing on the screen.
func (c *canvas) send(sequence string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	io.WriteString(c.out, sequence)
}

// show writes a drawing, where the screen is ours.
func (c *canvas) show(d drawing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.open {
		return
	}
	c.known = c.known && len(d.lines) == len(c.shown.lines) && d.width == c.shown.width
	c.buf.Reset()
	for y, l := range d.lines {
		if !c.known || l != c.shown.lines[y] {
			c.line(y, l, d.width)
		}
	}
	if c.buf.Len() == 0 && c.known && d.x == c.shown.x && d.y == c.shown.y {
		return
	}
	c.shown, c.known = d, true
	c.out.Write(c.frame(d)) // a terminal that is gone ends the program by its hangup
}

// frame returns what is written of a drawing: lines cannot wrap, the cursor is hidden meanwhile, and a terminal that can
// shows all of it at once.
func (c *canvas) frame(d drawing) []byte {
	var out bytes.Buffer
	out.WriteString(ansi.SetModeSynchronizedOutput + ansi.ResetModeTextCursorEnable)
	if c.buf.Len() > 0 {
		out.WriteString(ansi.ResetModeAutoWrap)
		out.Write(c.buf.Bytes())
		out.WriteString(ansi.SetModeAutoWrap)
	}
	if d.y >= 0 {
		fmt.Fprintf(&out, "\x1b[%d;%dH", d.y+1, d.x+1)
		out.WriteString(ansi.SetModeTextCursorEnable)
	}
	out.WriteString(ansi.ResetModeSynchronizedOutput)
	return out.Bytes()
}

// line writes one. A full one must not be erased behind its last cell; one whose width terminals
// do not agree about is erased before.
func (c *canvas) line(y int, l string, w int) {
	fmt.Fprintf(&c.buf, "\x1b[%d;1H", y+1)
	l = harmless(l)
	n, sure := narrow(l)
	if !sure {
		c.buf.WriteString(ansi.EraseEntireLine)
	}
	if c.colors {
		c.buf.WriteString(l)
	} else {
		(&colorprofile.Writer{Forward: &c.buf, Profile: colorprofile.ASCII}).WriteString(l)
	}
	c.buf.WriteString(ansi.ResetStyle)
	if sure && n < w {
		c.buf.WriteString(ansi.EraseLineRight)
	}
}

// harmless keeps the words and the styles of a line. Foreign texts were made harmless before; nothing
// that moves, asks or sets anything reaches a terminal although one was forgotten.
func harmless(l string) string {
	at := 0
	for at < len(l) {
		n, ok := styled(l[at:])
		if !ok {
			break
		}
		at += n
	}
	if at == len(l) {
		return l
	}
	out := []byte(l[:at])
	for at < len(l) {
		n, ok := styled(l[at:])
		if ok {
			out = append(out, l[at:at+n]...)
		}
		at += n
	}
	return string(out)
}

// styled is the length of what a line begins with, and whether that is a byte of a text or a style.
func styled(s string) (n int, ok bool) {
	switch c := s[0]; {
	case c == 0x1b:
		end := markdown.StyleEnd(s)
		return max(1, end), end > 0
	case c == 0xc2 && len(s) > 1 && s[1] < 0xa0: // a control sign of the other kind
		return 2, false
	case c < ' ' || c == 0x7f:
		return 1, false
	}
	return 1, true
}
