package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/ledger"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

// trackFlags choose the ledger.
type trackFlags struct {
	state string
	flag  *pflag.Flag // for state
}

// ledgerOf is the ledger that the flags choose, as seen from a folder.
func ledgerOf(l *Line, f *trackFlags, from string) (*ledger.Folder, error) {
	if f.flag.Changed && f.state == "" {
		return nil, fault.New(fault.Usage, "--state is empty").WithHint("give it a value, or leave it out")
	}
	project, err := config.ProjectFolder(from)
	if err != nil {
		return nil, err
	}
	dir := f.state
	switch {
	case dir == "":
		dir = filepath.Join(project, ".ramet")
	case !filepath.IsAbs(dir):
		here, err := filepath.EvalSymlinks(from)
		if err != nil {
			return nil, fault.New(fault.NotFound, "folder %s: %w", from, err)
		}
		dir = filepath.Join(here, dir)
	}
	if err := session.CheckInside(project, dir, "give the folder itself with --state"); err != nil {
		return nil, err
	}
	return ledger.FolderAt(dir, ledger.FolderOptions{Now: l.Now, Repaired: l.TellRepair, Project: project}), nil
}

// makeState makes the default folder as every .ramet is made.
func makeState(l *Line, f *trackFlags, from string) error {
	if f.state != "" {
		return nil
	}
	return session.MakeProjectFolder(from)
}

// completeTracked completes ids of the ledger that can change their status.
func (l *Line) completeTracked(c *cobra.Command, _ []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	folder, err := l.OpenLedger(false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	v, err := folder.Read(context.WithoutCancel(c.Context()))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, e := range v.Entries() {
		if e.Status.Live() {
			out = append(out, e.ID)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func trackCommand(l *Line) *cobra.Command {
	f := &trackFlags{}
	c := parent("track", "The ledger of spawned sub-agents", `Record every sub-agent that any program spawns: which are running, how the others ended,
and which were interrupted and can be resumed.

The ledger is two files in a state folder, agent-history.json and current-agent-id.txt.
Other tools read and write them too, and what they add is preserved. Every command first
repairs damage that it finds, and reports it on standard error.

A spawned sub-agent becomes completed, failed, timeout or interrupted. An interrupted one
becomes resumed or failed. The other states are final.`, hookCommand(l, f), runWithLedgerCommand(l))
	c.PersistentFlags().StringVar(&f.state, "state", "", "state folder, such as .long-run (default .ramet of the project)")
	f.flag = c.PersistentFlags().Lookup("state")
	l.OpenLedger = func(make bool) (*ledger.Folder, error) {
		folder, err := ledgerOf(l, f, l.Dir)
		if err == nil && make {
			err = makeState(l, f, l.Dir)
		}
		return folder, err
	}
	return c
}

// maxHookInput bounds what is read of a hook's input.
const maxHookInput = 16 << 20

// hookCommand makes the command that "track install claude-code" installs as a hook. It prints
// nothing to standard output, which could become part of a conversation, and never exits
// with 2, which would keep a sub-agent from stopping.
func hookCommand(l *Line, f *trackFlags) *cobra.Command {
	var minutes float64
	c := &cobra.Command{
		Use:    "hook TOOL",
		Short:  "Record a hook event of another tool from standard input",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := hook(l, c, f, minutes, args); err != nil {
				(&printer.Printer{Out: l.Stderr, JSON: l.JSON}).Fail(err)
				return Exited(1)
			}
			return nil
		},
	}
	c.Flags().Float64Var(&minutes, "timeout", 0, "minutes that a sub-agent may take")
	return c
}

func hook(l *Line, c *cobra.Command, f *trackFlags, minutes float64, args []string) error {
	if len(args) != 1 || args[0] != "claude-code" {
		return fault.New(fault.Usage, "track hook knows only claude-code")
	}
	data, err := io.ReadAll(io.LimitReader(l.Stdin, maxHookInput))
	if err != nil {
		return fault.New(fault.InvalidText, "read hook input: %w", err)
	}
	in, err := ledger.ParseClaudeInput(data)
	if err != nil {
		return err
	}
	from := cmp.Or(l.Getenv("CLAUDE_PROJECT_DIR"), in.Cwd, l.Dir)
	folder, err := ledgerOf(l, f, from)
	if err != nil {
		return err
	}
	h := hooked{folder, in, minutes}
	ctx := c.Context()
	switch in.Event {
	case "SubagentStart", "SubagentStop":
		if in.AgentID == "" {
			return fault.New(fault.InvalidText, "read hook input: %s without agent_id", in.Event).WithHint("use a newer Claude Code")
		}
		if err := makeState(l, f, from); err != nil {
			return err
		}
		if in.Event == "SubagentStart" {
			return h.begin(ctx)
		}
		return h.end(ctx)
	case "PostToolUseFailure":
		return h.broke(ctx)
	case "SessionEnd":
		return h.interruptAll(ctx, "the session ended: "+text.Line(in.Reason, 200))
	case "SessionStart":
		if in.Source == "startup" || in.Source == "resume" {
			return h.interruptAll(ctx, "its session restarted: "+in.Source)
		}
	}
	return nil // not for us
}

// hooked is one call of the hook.
type hooked struct {
	*ledger.Folder
	in      ledger.ClaudeInput
	minutes float64
}

// start returns the sub-agent that the hook reports. Its id is Claude Code's, which is known when it starts
// and is used in its whole session.
func (h hooked) start() ledger.Start {
	st := ledger.Start{ID: h.in.AgentID, Type: text.Line(h.in.AgentType, 200), Description: text.Line(h.in.Prompt, 200), Minutes: h.minutes,
		Extra: []ledger.Member{{Key: "recorded_by", Raw: ledger.QuoteJSON("claude-code")}, {Key: sessionKey, Raw: ledger.QuoteJSON(h.in.Session)}}}
	if st.Description == "" {
		st.Description = "Claude Code sub-agent: " + st.Type
	}
	return st
}

// sessionKey is the extra field that says which session an entry is of.
const sessionKey = "session_id"

// begin records a start. It comes again when a sub-agent is given more to do.
func (h hooked) begin(ctx context.Context) error {
	e, ok, err := h.find(ctx)
	switch {
	case err != nil:
		return err
	case ok && e.Status == ledger.Spawned:
		return nil
	case ok && e.Status == ledger.Interrupted:
		_, err = h.Resume(ctx, e.ID, h.start())
	default:
		_, err = h.Spawn(ctx, h.start())
	}
	return err
}

// end records an end, also that of one whose start was missed, or that was taken for
// interrupted too early.
func (h hooked) end(ctx context.Context) error {
	e, ok, err := h.find(ctx)
	if err != nil || ok && e.Status.Finished() {
		return err
	}
	reason := ""
	if !ok || e.Status != ledger.Spawned {
		if err := h.begin(ctx); err != nil {
			return err
		}
		if !ok {
			reason = "its start was not seen"
		}
	}
	var extra []ledger.Member
	if h.in.Transcript != "" {
		extra = append(extra, ledger.Member{Key: "agent_transcript_path", Raw: ledger.QuoteJSON(h.in.Transcript)})
	}
	_, err = h.Move(ctx, h.in.AgentID, ledger.Completed, reason, extra...)
	return err
}

// broke records that the tool which runs a sub-agent failed. It does not say which
// sub-agent that was: only if there is just one that it can be, something is recorded.
func (h hooked) broke(ctx context.Context) error {
	running, err := h.running(ctx)
	if err != nil {
		return err
	}
	if kind := h.in.ToolInput.Type; kind != "" {
		running = slices.DeleteFunc(running, func(e ledger.Entry) bool { return e.Type != kind })
	}
	if len(running) != 1 {
		return nil
	}
	if h.in.IsInterrupt {
		_, err = h.Move(ctx, running[0].ID, ledger.Interrupted, "stopped by the user")
	} else {
		_, err = h.Move(ctx, running[0].ID, ledger.Failed, text.Line(h.in.Error, 1000))
	}
	return err
}

// interruptAll records that nothing of this session runs any more.
func (h hooked) interruptAll(ctx context.Context, why string) error {
	running, err := h.running(ctx)
	for _, e := range running {
		if _, err := h.Move(ctx, e.ID, ledger.Interrupted, why); err != nil {
			return fmt.Errorf("interrupt %s: %w", e.ID, err)
		}
	}
	return err
}

// running returns the spawned entries of this session.
func (h hooked) running(ctx context.Context) ([]ledger.Entry, error) {
	v, err := h.Read(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(v.Entries(), func(e ledger.Entry) bool {
		return e.Status != ledger.Spawned || h.in.Session == "" || e.Field(sessionKey) != h.in.Session
	}), nil
}

func (h hooked) find(ctx context.Context) (ledger.Entry, bool, error) {
	v, err := h.Read(ctx)
	if err != nil {
		return ledger.Entry{}, false, err
	}
	e, ok := v.Find(h.in.AgentID)
	return e, ok, nil
}

// grace is the time that a command which used up its own has to end by itself.
const grace = 5 * time.Second

func runWithLedgerCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.RunTracked)
	c.Use, c.Args = "run [flags] -- COMMAND [ARG…]", nil
	c.Flags().SetInterspersed(false) // what follows the command's name is the command's
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fault.New(fault.Usage, "%s: no command given", c.CommandPath()).WithHint("usage: %s", c.UseLine())
		}
		in, err := l.Bind(c, &operation.RunTracked, args)
		if err != nil {
			return err
		}
		return operation.Explain(&operation.RunTracked, operation.CLI, runTracked(l, c, in.(*operation.RunTrackedInput)))
	}
	return c
}

func runTracked(l *Line, c *cobra.Command, in *operation.RunTrackedInput) error {
	args := in.Command
	st, err := in.Start(in.TaskOptions, operation.OwnerOption{})
	if err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return fault.New(fault.NotFound, "run %s: %w", args[0], err).WithHint("give a program that is there and may be executed")
	}
	st.Owner = ledger.SelfOwner()
	if st.Type == "" {
		st.Type = filepath.Base(args[0])
	}
	if st.Description == "" && st.Plan == "" && st.Group == "" {
		st.Description = strings.Join(args, " ")
		st.Description = strings.ToValidUTF8(st.Description[:min(len(st.Description), 4096)], "\uFFFD")
	}
	folder, err := l.OpenLedger(true)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded()...) // before the command: none is lost in between
	defer signal.Stop(signals)
	e, err := folder.Spawn(c.Context(), st)
	if err != nil {
		return err
	}
	cmd, err := launch.Command(context.Background(), launch.Program{Purpose: launch.UserCommand, Command: sandbox.Command{
		Args: append([]string{path}, args[1:]...), Dir: l.Dir, Env: append(os.Environ(), "RAMET_TRACK_ID="+e.ID, "RAMET_TRACK_STATE="+folder.Dir())}})
	if err != nil {
		return err
	}
	cmd.Args[0] = args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = l.Stdin, l.Stdout, l.Stderr
	end := runCommand(cmd, signals, isTerminal(l.Stdin), time.Duration(e.Minutes*float64(time.Minute)))
	status, reason := end.verdict(e)
	// The record is due also when a signal has cancelled everything else.
	_, err = folder.Move(context.WithoutCancel(c.Context()), e.ID, status, reason)
	switch {
	case fault.Is(err, fault.IllegalTransition):
		fmt.Fprintf(l.Stderr, "note: another process recorded how %s ended: %v\n", e.ID, err)
	case err != nil:
		return err
	}
	switch {
	case end.failed != nil:
		return fault.New(fault.Failed, "run %s: %w", args[0], end.failed)
	case end.late:
		return fault.New(fault.TimedOut, "run %s: %s", args[0], reason).WithHint("give it more with --timeout")
	case end.code == 0:
		return nil
	}
	return Exited(end.code)
}

func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ending describes the end of a command.
type ending struct {
	code   int
	by     string // the signal that ended it
	told   string // the first signal that was passed on to it
	late   bool
	failed error // it could not even start
}

// runCommand runs a command to its end. A limit of 0 is none.
func runCommand(cmd *exec.Cmd, signals <-chan os.Signal, terminal bool, limit time.Duration) (end ending) {
	prepare(cmd, terminal)
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// On Linux the command dies with the thread that started it: this one stays
		// until it has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if started <- err; err == nil {
			ended <- cmd.Wait()
		}
	}()
	if end.failed = <-started; end.failed != nil {
		return end
	}
	var late, over <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case sig := <-signals:
			if end.told == "" {
				end.told = sig.String()
			}
			if !terminal || !fromKeyboard(sig) {
				pass(cmd, sig, terminal)
			}
		case <-late:
			end.late, late, over = true, nil, time.After(grace)
			terminate(cmd, terminal)
		case <-over:
			kill(cmd, terminal)
		case err := <-ended:
			if end.late {
				kill(cmd, terminal) // what it left behind
			}
			end.code, end.by = howEnded(cmd.ProcessState)
			if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok && end.code == 0 {
				end.failed = err // its output could not be passed on
			}
			return end
		}
	}
}

// verdict returns the status for the ledger.
func (end ending) verdict(e ledger.Entry) (ledger.Status, string) {
	switch {
	case end.failed != nil:
		return ledger.Failed, end.failed.Error()
	case end.late:
		return ledger.Timeout, fmt.Sprintf("it took longer than %v minutes", e.Minutes)
	case end.code == 0:
		return ledger.Completed, ""
	case end.by != "":
		return ledger.Interrupted, "ended by signal: " + end.by
	case end.told != "":
		return ledger.Interrupted, fmt.Sprintf("exit code %d after signal: %s", end.code, end.told)
	case signalled[end.code]:
		return ledger.Interrupted, fmt.Sprintf("exit code %d", end.code)
	}
	return ledger.Failed, fmt.Sprintf("exit code %d", end.code)
}

// signalled are the exit codes by which shells say that HUP, INT, KILL or TERM ended
// their command.
var signalled = map[int]bool{129: true, 130: true, 137: true, 143: true}
