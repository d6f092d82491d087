package tui

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

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
			c.line(y, l)
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

func (c *canvas) line(y int, l string) {
	fmt.Fprintf(&c.buf, "\x1b[%d;1H"+ansi.EraseEntireLine, y+1)
	if c.colors {
		c.buf.WriteString(harmless(l))
	} else {
		(&colorprofile.Writer{Forward: &c.buf, Profile: colorprofile.ASCII}).WriteString(harmless(l))
	}
	c.buf.WriteString(ansi.ResetStyle)
}

// harmless keeps the text and the styles of a line. Foreign texts were made safe before; nothing that moves the cursor,
// asks the terminal or sets anything reaches it even if one was forgotten.
func harmless(l string) string {
	var out strings.Builder
	for i := 0; i < len(l); {
		r, n := utf8.DecodeRuneInString(l[i:])
		style := markdown.StyleEnd(l[i:])
		if n = max(n, style); style > 0 || !unicode.IsControl(r) {
			out.WriteString(l[i : i+n])
		}
		i += n
	}
	return out.String()
}
