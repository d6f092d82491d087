package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ramet/internal/base/fault"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/ledger"
	"ramet/internal/operation"
)

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
