package tui

import (
	"context"
	"io"
	"os"
	"os/exec"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
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
