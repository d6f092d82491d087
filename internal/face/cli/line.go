package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/ledger"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

// Streams holds the input and the outputs of a command.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Terminal       bool // standard output is one
	ErrTerminal    bool // standard error is one
	// Password asks for a secret on the terminal without showing what is typed; nil where
	// standard input is no terminal.
	Password func(prompt string) (string, error)
	// Stay lets the command continue when its client is gone; nil: the command runs in the process of its user.
	Stay func()
}

// Background continues a command without its user.
type Background struct {
	// Detach carries out the same command line again in the background, shows what it
	// prints, and returns the exit code it has for its user, while it may go on. nil:
	// this system cannot.
	Detach func(context.Context) (exit int, err error)
	// Leave is set in a process that Detach started: it gives the exit code to the
	// user, and nothing is shown from then on.
	Leave func(exit int)
}

// Line is one command line being carried out.
type Line struct {
	Streams
	Background
	*session.Session
	JSON     bool
	OpenRuns func() (*operation.Runs, error) // set by the commands of runs
	// OpenLedger returns the ledger, whose default folder it makes if wanted. The commands of the ledger set it.
	OpenLedger func(make bool) (*ledger.Folder, error)
	vendors    operation.Vendors
	// elsewhere carries out the command line in the background kernel; nil: this is not to be done.
	elsewhere func(ctx context.Context, start bool) (exit int, ran bool, err error)
	// background finds the background kernel; nil: there can be none.
	background func() (BackgroundKernel, error)
	confined   bool // see Env
	// args is the command line; nil: every command is made whole.
	args []string
}

// Find opens the workspace and finds an agent in it.
func (l *Line) Find(ctx context.Context, ref string) (*session.Workspace, agent.Agent, error) {
	w, err := l.Open(ctx)
	if err != nil {
		return nil, agent.Agent{}, err
	}
	a, err := w.Find(ctx, ref)
	return w, a, err
}

// Person refuses what only a person may do.
func (l *Line) Person(what string) error {
	return session.NeedPerson(context.Background(), what, l.Own)
}

// Or0 is the agent that the first argument names, else agent 0.
func Or0(args []string) string {
	if len(args) == 0 {
		return "0"
	}
	return args[0]
}

// path returns the path of a file that the user names. In the kernel it doesn't depend on the process's folder.
func (l *Line) path(name string) string {
	if filepath.IsAbs(name) || l.Hold == nil {
		return name
	}
	return filepath.Join(l.Dir, name)
}

// Text is an argument, or standard input for "-".
func (l *Line) Text(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := io.ReadAll(io.LimitReader(l.Stdin, history.MaxText+1))
	if err != nil {
		return "", fault.New(fault.InvalidText, "read standard input: %w", err)
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

// command makes a command that prints one datum; nil: nothing.
func (l *Line) command(use, short, long string, least, most int, do func(ctx context.Context, args []string) (printer.Datum, error)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Long: long, Args: CheckArguments(least, most), RunE: func(c *cobra.Command, args []string) error {
		d, err := do(c.Context(), args)
		if err != nil || d == nil {
			return err
		}
		return l.Print(d)
	}}
}

func parent(use, short, long string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Long: long, Args: UnknownCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(below...)
	return c
}

// Printer shows data on standard output.
func (l *Line) Printer() *printer.Printer {
	return &printer.Printer{Out: l.Stdout, JSON: l.JSON, Color: l.Color(l.Terminal), Now: l.Now}
}

// Print shows one datum.
func (l *Line) Print(d printer.Datum) error { return l.Printer().Print(d) }

// Fail shows an error.
func (l *Line) Fail(err error) {
	(&printer.Printer{Out: l.Stderr, JSON: l.JSON, Color: l.Color(l.ErrTerminal)}).Fail(l.Hide(err))
}

// Color decides by the configuration, which knows NO_COLOR too, once something would have colour: much
// that is shown has none, and needs no configuration. Where it cannot be read, somebody else says so.
func (l *Line) Color(terminal bool) func() bool {
	return sync.OnceValue(func() bool {
		conf, err := l.Config()
		switch {
		case err != nil:
			return terminal && l.Getenv("NO_COLOR") == ""
		case conf.Color == "auto":
			return terminal && l.Getenv("TERM") != "dumb"
		}
		return conf.Color == "always"
	})
}

// Note writes a line about what happens to standard error.
func (l *Line) Note(what string) { fmt.Fprintln(l.Stderr, text.Line(what, 400)) }

// GoOn carries out the same command line in the background, if asked to; true: that was it.
func (l *Line) GoOn(ctx context.Context, wanted bool) (bool, error) {
	if !wanted || l.Leave != nil {
		return false, nil
	}
	if l.Detach == nil {
		return true, fault.New(fault.Usage, "this system can't continue in the background")
	}
	code, err := l.Detach(ctx)
	if err == nil && code != 0 {
		err = Exited(code)
	}
	return true, err
}

// Exited is the exit code of a command that needs no error message.
type Exited = operation.ExitCode

// TellRepair prints which part of a ledger was repaired, on standard error.
func (l *Line) TellRepair(r ledger.RepairResult) {
	fmt.Fprintf(l.Stderr, "LEDGER_RECOVERED: %s could not be read and is kept as %s; made again from the %s, with %s\n",
		ledger.FileName, filepath.Base(r.Corrupt), r.From, text.Count(r.Entries, "entry"))
}

// Yes asks on the terminal; everything but yes is no.
func (l *Line) Yes(question string) bool {
	io.WriteString(l.Stderr, question)
	said, _ := bufio.NewReader(io.LimitReader(l.Stdin, 1<<10)).ReadString('\n')
	said = strings.ToLower(strings.TrimSpace(said))
	return said == "y" || said == "yes"
}

// linesBuffer is the size of the buffer between a stream and the standard output, in bytes.
const linesBuffer = 256 << 10

// printLines prints the parts of a stream in their order. What was printed before an error is written before the
// error is returned. what names the parts where their number is shown.
func printLines(l *Line, to io.Writer, what string, all iter.Seq2[printer.Part, error]) (err error) {
	told := l.Progress(what)
	defer func() { told.End() }()
	p, out := l.Printer(), bufio.NewWriterSize(to, linesBuffer)
	defer func() { err = cmp.Or(out.Flush(), err) }()
	p.Out = out
	for part, err := range all {
		if err == nil && part != nil {
			err = part(p)
			told.Add(1)
		} else if err == nil { // the reader waits for more: what takes long is not told from here on
			err = out.Flush()
			told.End()
			told = &Progress{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Progress tells, of work that takes longer than a second, how much of it is done: on standard
// error, where that is a terminal and standard output is none, on one line that changes and is gone
// at the end.
type Progress struct {
	out     io.Writer // nil: nothing is shown
	what    string
	now     func() time.Time
	mu      sync.Mutex
	begun   time.Time
	last    time.Time // shown
	count   int
	visible bool
}

// Progress begins to count.
func (l *Line) Progress(what string) *Progress {
	p := &Progress{what: what, now: l.Now}
	if l.ErrTerminal && !l.Terminal {
		p.out, p.begun = l.Stderr, l.Now()
	}
	return p
}

// Begins and pause of what is shown.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// Add counts n more. Any goroutine may.
func (p *Progress) Add(n int) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count += n
	now := p.now()
	if now.Sub(p.begun) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.visible = now, true
	fmt.Fprintf(p.out, "\r\x1b[K%d %s, %.0f s", p.count, p.what, now.Sub(p.begun).Seconds())
}

// End takes the line away.
func (p *Progress) End() {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.visible {
		io.WriteString(p.out, "\r\x1b[K")
	}
	p.visible = false
}
