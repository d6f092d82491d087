package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// Append writes one message of a kind that a person may write.
func (w History) Append(ctx context.Context, a agent.Agent, kind history.Kind, text string) (history.Entry, error) {
	draft, err := history.Say(kind, text)
	if err != nil {
		return history.Entry{}, err
	}
	if err := w.ws.maySay(ctx, a, kind); err != nil {
		return history.Entry{}, err
	}
	return w.write(ctx, a, draft)
}

// Mark marks the point where the agent is, with the state of its files; a label is optional.
func (w History) Mark(ctx context.Context, a agent.Agent, label string) (history.Entry, error) {
	draft, err := history.NewMark(label)
	if err != nil {
		return history.Entry{}, err
	}
	if err := w.ws.may(ctx, "write to", a); err != nil {
		return history.Entry{}, err
	}
	drafts, err := w.ws.Files().draftState(ctx, a)
	if err != nil {
		return history.Entry{}, err
	}
	return w.write(ctx, a, append(drafts, draft)...)
}

// Clear empties an agent's context.
func (w History) Clear(ctx context.Context, a agent.Agent) (history.Entry, error) {
	return w.write(ctx, a, history.NewClear())
}

// RewindTo makes the context what it was just after a message.
func (w History) RewindTo(ctx context.Context, a agent.Agent, target id.Message) (history.Entry, error) {
	return w.write(ctx, a, history.NewRewind(target, ""))
}

// Rewind goes back to the newest mark of a label; of any, if the label is empty.
func (w History) Rewind(ctx context.Context, a agent.Agent, label string) (history.Entry, error) {
	if label != "" {
		if err := history.CheckLabel(label); err != nil {
			return history.Entry{}, err
		}
	}
	if err := w.ws.may(ctx, "rewind", a); err != nil {
		return history.Entry{}, err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return history.Entry{}, err
	}
	mark, err := w.mark(ctx, a, label)
	if err != nil {
		return history.Entry{}, err
	}
	return w.write(ctx, a, history.NewRewind(mark.ID, mark.Label))
}

// mark finds the newest mark of a label; of any, if the label is empty.
func (w History) mark(ctx context.Context, a agent.Agent, label string) (history.Label, error) {
	_, outline, err := history.Survey(ctx, w.ws.Store, a.ID)
	if err != nil {
		return history.Label{}, err
	}
	mark, ok := outline.Mark(label)
	if !ok {
		return mark, noMark(a.Label(), label, outline.Marks())
	}
	return mark, nil
}

func noMark(who, label string, marks []history.Label) error {
	if label == "" {
		return fault.New(fault.NotFound, "agent %s has no mark", who).
			WithHint("set one with `ramet mark`, or rewind with --to ID")
	}
	err := fault.New(fault.NotFound, "agent %s has no mark %q", who, label)
	var labels, quoted []string
	for _, m := range marks {
		if m.Label != "" && !slices.Contains(labels, m.Label) {
			labels, quoted = append(labels, m.Label), append(quoted, fmt.Sprintf("%q", m.Label))
		}
	}
	if len(labels) == 0 {
		return err.WithHint("it has no labels since its last clear")
	}
	return err.WithHint("%s", text.NearestHint(label, labels, "it has "+strings.Join(quoted, ", ")))
}

// Rename gives an agent a name.
func (w Agents) Rename(ctx context.Context, a agent.Agent, name string) (agent.Agent, error) {
	if err := agent.CheckName(name); err != nil {
		return a, err
	}
	if err := w.ws.may(ctx, "rename", a); err != nil {
		return a, err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return a, err
	}
	return w.ws.Store.Rename(ctx, a.ID, agent.Passing(), name)
}

// Redact deletes the content of a message for good, also from the memory of kernels of
// this machine.
func (w History) Redact(ctx context.Context, a agent.Agent, m id.Message) error {
	if err := w.ws.person(ctx, "redact"); err != nil {
		return err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return err
	}
	switch e, err := w.ws.Store.Entry(ctx, m); {
	case fault.Is(err, fault.NotFound): // the redaction itself says what is wrong
	case err != nil:
		return err
	case e.Agent != a.ID: // likewise
	case e.Kind == history.Files:
		return w.ws.Care().redactFiles(ctx, a, m)
	default:
		if err := w.ws.Care().forgetBeside(ctx, e); err != nil {
			return err
		}
	}
	if err := w.ws.Store.Redact(ctx, a.ID, agent.Passing(), m); err != nil {
		return err
	}
	if err := w.ws.Care().forgetFiles(ctx, m); err != nil {
		return err
	}
	w.ws.Peers.Forget(ctx)
	return nil
}

// write appends entries in one transaction, and returns the last.
func (w History) write(ctx context.Context, a agent.Agent, drafts ...history.Draft) (history.Entry, error) {
	if err := w.ws.may(ctx, "write to", a); err != nil {
		return history.Entry{}, err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return history.Entry{}, err
	}
	entries, err := w.ws.Store.Append(ctx, a.ID, agent.Passing(), drafts...)
	if err != nil {
		return history.Entry{}, err
	}
	return entries[len(entries)-1], nil
}

// order writes what a person decided about an agent, also while it works.
func (w Agents) order(ctx context.Context, a id.Agent, entry history.Draft) error {
	return w.ws.retakes(ctx, a, func() error {
		if w.ws.Kernel != nil {
			_, err := w.ws.Kernel.Order(ctx, a, entry)
			return err
		}
		return w.ws.insert(ctx, a, func(c agent.Claim) error {
			_, err := w.ws.Store.Append(ctx, a, c, entry)
			return err
		})
	})
}
