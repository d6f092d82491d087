package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

func showAgentCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:               "show AGENT",
		Short:             "Show one agent",
		Long:              "Show one agent: lineage, ranges, counts, model, folder, lease.\nIts state is that of ps, with all there is to say about it.",
		Args:              CheckArguments(1, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			ws, a, err := l.Find(ctx, args[0])
			if err != nil {
				return err
			}
			if a.Unread, err = ws.Store.Unread(ctx, a.ID); err != nil {
				return err
			}
			out := details{agent: a}
			if out.now, err = ws.Agents().States(ctx, false, a.ID); err != nil {
				return err
			}
			if err := ws.Store.View(ctx, func(log history.Log) error { return out.read(ctx, log) }); err != nil {
				return err
			}
			return l.Print(out)
		},
	}
}

// details is the datum of show.
type details struct {
	agent   agent.Agent
	now     state.Now
	lineage []history.Ancestor
	ranges  []history.Range
	marks   []history.Label
	spent   registry.Accounts
}

func (d *details) read(ctx context.Context, log history.Log) (err error) {
	if d.lineage, err = log.Lineage(ctx, d.agent.ID); err != nil {
		return err
	}
	var outline history.Outline
	if d.ranges, outline, err = history.SurveyOf(ctx, log, d.lineage); err != nil {
		return err
	}
	d.marks = outline.Marks()
	d.spent, err = registry.AccountsOf(ctx, log, d.agent.ID)
	return err
}

func (d details) MarshalJSON() ([]byte, error) {
	type label struct {
		ID    id.Message `json:"id"`
		Label string     `json:"label"`
	}
	marks := []label{}
	for _, m := range d.marks {
		marks = append(marks, label(m))
	}
	lineage := []id.Agent{}
	for _, a := range d.lineage {
		lineage = append(lineage, a.Agent)
	}
	return public.Marshal(struct {
		public.Agent
		Lineage []id.Agent      `json:"lineage"`
		Ranges  []history.Range `json:"ranges"`
		Marks   []label         `json:"marks"`
		Before  *public.Spent   `json:"imported_spent"` // before it was imported, as its file tells
	}{public.FormatNow(d.agent, d.now), lineage, d.ranges, marks, public.FormatSpent(d.spent.Imported)})
}

func (d details) Text(w *printer.Writer) {
	a := d.agent
	line := func(name string, format string, args ...any) {
		w.Line("%v%s", w.Dim(fmt.Sprintf("%-10s", name)), fmt.Sprintf(format, args...))
	}
	line("agent", "%s", a.Label())
	line("uuid", "%s", a.ID)
	line("state", "%s", d.now.Of(a))
	line("status", "%s", a.Status)
	if a.Status == agent.Dead {
		line("ended", "%s (%s)", public.Stamp(a.EndedAt), a.EndReason)
	}
	line("created", "%s, %s ago", public.Stamp(a.CreatedAt), w.Age(a.CreatedAt))
	if !a.IsZero() {
		line("parent", "%s, forked after message %d", a.Parent, a.ForkMessage)
	}
	var ids []string
	for _, up := range d.lineage {
		ids = append(ids, up.Agent.Short())
	}
	if len(ids) > 8 {
		ids = append(append(ids[:4], fmt.Sprintf("… %d more …", len(ids)-6)), ids[len(ids)-2:]...)
	}
	line("lineage", "%s", strings.Join(ids, " ← "))
	line("messages", "%d own, %d in the context, newest entry %d", a.Own, a.Total, a.Head)
	for _, r := range d.ranges[max(0, len(d.ranges)-8):] {
		line("range", "%s", r.String())
	}
	for _, m := range d.marks[max(0, len(d.marks)-8):] {
		line("mark", "%d %s", m.ID, m.Label)
	}
	line("mail", "%d unread", a.Unread)
	if a.Model != "" {
		line("model", "%s/%s", a.Provider, a.Model)
	}
	if s := d.spent.Imported; s != nil {
		line("imported", "%d tokens, %s, as its file tells; they count for no budget", s.Tokens, llm.Money(s.Cost))
	}
	line("folder", "%s", a.Cwd)
	if a.Lease.Owner != "" {
		line("lease", "%s, epoch %d, until %s", a.Lease.Owner, a.Lease.Epoch, public.Stamp(a.Lease.Until))
	}
}
