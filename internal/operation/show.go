package operation

import (
	"context"
	"fmt"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

// ShowInput names an agent.
type ShowInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" help:"0, a name, a uuid or the beginning of one"`
	Brief bool     `json:"brief,omitempty" faces:"-" default:"http=true" help:"only what a list shows"`
}

// Show shows one agent.
var Show = Op[ShowInput, AgentDetails]{
	Doc: Doc{Name: "show", Group: "agents", ID: "getAgent", Route: "GET /api/v1/agents/{ref=agent} 200", Faces: CLI | HTTP, Effect: Reads,
		Summary: "Show one agent",
		Help:    `Show one agent: lineage, message ranges, counts, model, folder, lease, and its state in full.`},
	Run: showAgent, Text: writeDetails, Public: publicDetails,
}

// AgentDetails is all there is to say about an agent.
type AgentDetails struct {
	agent   agent.Agent
	now     state.Now
	driven  *public.Driven // in brief, if another program drives it
	lineage []history.Ancestor
	ranges  []history.Range
	marks   []history.Label
	spent   registry.Accounts
}

func showAgent(ctx context.Context, e *Env, in ShowInput) (out AgentDetails, err error) {
	if out.agent, err = e.Find(ctx, string(in.Agent)); err != nil {
		return out, err
	}
	if out.agent.Unread, err = e.Store.Unread(ctx, out.agent.ID); err != nil {
		return out, err
	}
	if out.now, err = e.Agents().States(ctx, false, out.agent.ID); err != nil {
		return out, err
	}
	if in.Brief {
		out.driven, err = e.Programs().DrivenOf(ctx, out.agent)
		return out, err
	}
	return out, e.Store.View(ctx, func(log history.Log) error { return out.read(ctx, log) })
}

func (d *AgentDetails) read(ctx context.Context, log history.Log) (err error) {
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

// ShownAgent is an agent with its history's outline.
type ShownAgent struct {
	public.Agent
	Lineage []id.Agent      `json:"lineage"`
	Ranges  []history.Range `json:"ranges"`
	Marks   []ShownMark     `json:"marks"`
	Before  *public.Spent   `json:"imported_spent"` // before it was imported, as its file tells
}

// ShownMark is a mark in a history.
type ShownMark struct {
	ID    id.Message `json:"id"`
	Label string     `json:"label"`
}

func publicDetails(f Face, d AgentDetails) any {
	if f == HTTP {
		out := public.FormatDoing(d.agent, d.now)
		out.Driven = d.driven
		return out
	}
	out := ShownAgent{public.FormatNow(d.agent, d.now), []id.Agent{}, d.ranges, []ShownMark{}, public.FormatSpent(d.spent.Imported)}
	for _, a := range d.lineage {
		out.Lineage = append(out.Lineage, a.Agent)
	}
	for _, m := range d.marks {
		out.Marks = append(out.Marks, ShownMark(m))
	}
	return out
}

func writeDetails(w *printer.Writer, _ ShowInput, d AgentDetails) {
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
