package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/ledger"
)

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

// start is a sub-agent as the hook tells of it. Its id is Claude Code's: it is known
// when it starts, and everybody in the session knows it by that.
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
		_, err = h.Interrupt(ctx, running[0].ID, "stopped by the user")
	} else {
		_, err = h.Finish(ctx, running[0].ID, ledger.Failed, text.Line(h.in.Error, 1000))
	}
	return err
}

// interruptAll records that nothing of this session runs any more.
func (h hooked) interruptAll(ctx context.Context, why string) error {
	running, err := h.running(ctx)
	for _, e := range running {
		if _, err := h.Interrupt(ctx, e.ID, why); err != nil {
			return fmt.Errorf("interrupt %s: %w", e.ID, err)
		}
	}
	return err
}

// running are the spawned entries of this session.
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
