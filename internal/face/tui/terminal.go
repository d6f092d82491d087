package tui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"ramet/internal/face/tui/markdown"
)

// terminal is the device that a program is shown on: its modes, and the canvas that writes its screen. Bubble Tea reads
// keys and runs the loop, without its renderer: that compares every cell of the screen 60 times a second, for which an
// idle terminal pays with one percent of a core and a key with a millisecond (decision 074).
type terminal struct {
	canvas
	o         Options
	title     string      // of the window
	in, shows *term.State // how input and output were set before they became ours; nil: they are no terminal
}

type program interface {
	Init() tea.Cmd
	Update(tea.Msg) tea.Cmd
	// draw returns the screen.
	draw() drawing
}

func newTerminal(o Options, title string) *terminal {
	return &terminal{canvas: newCanvas(o.Out, o.Env), o: o, title: title}
}

// run shows a program until it quits. The terminal is as before when it returns, also after a panic.
func (t *terminal) run(ctx context.Context, p program) error {
	w, h := t.size()
	if err := t.enter(); err != nil {
		return err
	}
	defer t.leave()
	// Without a renderer its ticker has nothing to do; once a second is the slowest.
	loop := tea.NewProgram(model{p, t}, tea.WithContext(ctx), tea.WithInput(t.o.In), tea.WithOutput(t.o.Out), tea.WithEnvironment(t.o.Env),
		tea.WithoutSignalHandler(), tea.WithoutRenderer(), tea.WithFPS(1), tea.WithWindowSize(w, h))
	defer onResize(func() {
		w, h := t.size()
		loop.Send(tea.WindowSizeMsg{Width: w, Height: h})
	})()
	_, err := loop.Run()
	return err
}

func (t *terminal) size() (w, h int) {
	if f, ok := t.o.Out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}

// enter makes the terminal ours: raw input, a screen of its own, and the modes in which it reports keys, pastes, the mouse
// and whether it is in front. What a terminal does not know it ignores.
func (t *terminal) enter() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.o.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if t.in, err = term.MakeRaw(int(f.Fd())); err != nil {
			return err
		}
	}
	if f, ok := t.o.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if t.shows, err = term.GetState(int(f.Fd())); err == nil {
			err = enableSequences(f)
		}
	}
	modes := ansi.SetModeAltScreenSaveCursor + ansi.EraseEntireScreen + ansi.SetModeBracketedPaste + ansi.SetModeUnicodeCore + ansi.SetModifyOtherKeys2 +
		ansi.PushKittyKeyboard(ansi.KittyDisambiguateEscapeCodes) + ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr + ansi.SetWindowTitle(t.title)
	if t.o.Notify != nil {
		modes += ansi.SetModeFocusEvent
	}
	io.WriteString(t.out, modes)
	t.open, t.known = true, false
	return err
}

func (t *terminal) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open {
		return
	}
	t.open = false
	io.WriteString(t.out, ansi.ResetModifyOtherKeys+ansi.PopKittyKeyboard(1)+ansi.ResetModeAltScreenSaveCursor+ansi.SetModeTextCursorEnable+
		ansi.ResetModeBracketedPaste+ansi.ResetModeUnicodeCore+ansi.ResetModeMouseButtonEvent+ansi.ResetModeMouseExtSgr+ansi.ResetModeFocusEvent+ansi.SetWindowTitle(""))
	if t.in != nil {
		term.Restore(int(t.o.In.(*os.File).Fd()), t.in) // a terminal that is gone needs nothing
	}
	if t.shows != nil {
		term.Restore(int(t.o.Out.(*os.File).Fd()), t.shows)
	}
}

// leavePanicking gives the terminal back before a panic is reported on it.
func (t *terminal) leavePanicking() {
	if r := recover(); r != nil {
		t.leave()
		panic(r)
	}
}

// guard returns a command that gives the terminal back if it panics.
func (t *terminal) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer t.leavePanicking()
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = t.guard(batch[i])
			}
		}
		return msg
	}
}

func (t *terminal) runCommand(cmd *exec.Cmd, over func(error) tea.Msg) tea.Cmd {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.o.In, t.o.Out, os.Stderr
	return tea.Exec(alone{cmd, t}, over)
}

// alone is a command that has the terminal for itself.
type alone struct {
	*exec.Cmd
	terminal *terminal
}

func (a alone) Run() error {
	a.terminal.leave()
	err := a.Cmd.Run()
	if back := a.terminal.enter(); err == nil {
		err = back
	}
	return err
}

func (alone) SetStdin(io.Reader)  {}
func (alone) SetStdout(io.Writer) {}
func (alone) SetStderr(io.Writer) {}

// model is a program as Bubble Tea runs it: its screen is written to the terminal whenever it may have changed.
type model struct {
	program
	terminal *terminal
}

func (s model) Init() tea.Cmd {
	s.terminal.send(ansi.RequestBackgroundColor)
	return s.terminal.guard(s.program.Init())
}

func (s model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer s.terminal.leavePanicking()
	if _, ok := msg.(tea.WindowSizeMsg); ok {
		s.terminal.forget() // terminals move what they show
	}
	return s, s.terminal.guard(s.program.Update(msg))
}

func (s model) View() tea.View {
	defer s.terminal.leavePanicking()
	s.terminal.show(s.draw())
	return tea.View{}
}

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

// Pick shows a list to choose from by a few letters, and gives the one that was chosen; false:
// none. Lines are texts with a remark each.
func Pick(ctx context.Context, o Options, title string, lines [][2]string) (int, bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	chosen := &choosing{root: &root{o: o, ctx: ctx, w: 80, h: 24}, at: -1}
	var choices []choice
	for i, l := range lines {
		choices = append(choices, choice{line(l[0], 400), line(l[1], 60), i})
	}
	chosen.root.over = newPicker(title, choices, 0, func(_ *root, i int) tea.Cmd {
		chosen.at = i
		return nil
	})
	err := newTerminal(o, title).run(ctx, chosen)
	if ctx.Err() != nil {
		return 0, false, ctx.Err()
	}
	return max(0, chosen.at), chosen.at >= 0, err
}

type choosing struct {
	root *root
	at   int
}

func (c *choosing) Init() tea.Cmd { return nil }

func (c *choosing) Update(msg tea.Msg) tea.Cmd {
	p, open := c.root.over.(*picker)
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.root.w, c.root.h = msg.Width, msg.Height
	case tea.MouseWheelMsg:
		c.root.wheel(msg)
	case tea.KeyPressMsg:
		if open && msg.String() != "ctrl+c" {
			p.key(c.root, msg)
		}
		if msg.String() == "ctrl+c" || c.root.over == nil {
			return tea.Quit
		}
	case tea.PasteMsg:
		if open {
			p.paste(msg.Content)
		}
	}
	return nil
}

func (c *choosing) draw() drawing {
	d := drawing{width: c.root.w, y: -1}
	if w, h := max(c.root.w, 10), max(c.root.h, 4); c.root.over != nil {
		d.lines = slices.Clone(fill(c.root.over.view(c.root, w, h), h)[:min(h, c.root.h)])
	}
	return d
}
