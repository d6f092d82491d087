package operation

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

// PsInput asks for the tree of agents.
type PsInput struct {
	All   bool   `json:"all,omitempty" short:"a" help:"also dead agents"`
	Of    string `json:"of,omitempty" faces:"http" help:"only these, dead or alive: up to 200 uuids separated by commas; unknown ones are skipped"`
	Brief bool   `json:"brief,omitempty" faces:"-" help:"omit fields that the table doesn't show"`
}

// ForText implements TextInput: the table needs less than the JSON.
func (in *PsInput) ForText() { in.Brief = true }

// Ps lists agents.
var Ps = Op[PsInput, AgentTree]{
	Doc: Doc{Name: "ps", Aliases: "ls list agents", Group: "agents", ID: "listAgents", Route: "GET /api/v1/agents 200", Faces: CLI | HTTP | MCP | Slash, Effect: Reads,
		Summary: "Show the tree of agents",
		Model:   "List agents, parents before children, and what each of them does.",
		Help: `Show the tree of agents: name, short id, state, own/total messages, unread mail, age.
States: working (thinking, writing, running a tool, compacting), asks (needs approval), waits (for
mail), idle, done (its task ended), failed, interrupted ("ramet exec AGENT --continue" continues it),
killed. Children of a dead agent are shown under their nearest living ancestor. For agents that other
programs drive, it shows whether the program asks before it changes anything, and what it spent: as
measured by ramet's gateway, and as reported by the program.`},
	Run: listAgents, Text: writeTree,
	Public: func(f Face, out AgentTree) any {
		if f == HTTP {
			return out.withDoing()
		}
		return out
	},
}

// AgentTree lists agents, parents before children.
type AgentTree struct {
	nodes  []agent.Node
	now    state.Now
	driven map[id.Agent]*public.Driven // agents that another program drives
}

func listAgents(ctx context.Context, e *Env, in PsInput) (out AgentTree, err error) {
	if in.Of != "" {
		return listSome(ctx, e, strings.Split(in.Of, ","))
	}
	if out.nodes, err = e.Agents().List(ctx, in.All, in.Brief); err != nil {
		return out, err
	}
	if out.now, err = e.Agents().StatesAmong(ctx, in.All, out.nodes); err != nil {
		return out, err
	}
	out.driven, err = e.Programs().DrivenAmong(ctx, out.nodes)
	return out, err
}

// maxSome limits how many agents are listed by their ids.
const maxSome = 200

// listSome lists agents by their ids, for a client that has the others already.
func listSome(ctx context.Context, e *Env, uuids []string) (out AgentTree, err error) {
	if len(uuids) > maxSome {
		return out, fault.New(fault.Usage, "of names %d agents, %d are the most", len(uuids), maxSome).WithHint("list all of them")
	}
	var ids []id.Agent
	for _, uuid := range uuids {
		one, err := e.Store.Agent(ctx, id.Agent(uuid))
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return out, err
		}
		unread, err := e.Store.Letters(ctx, one.ID, mail.Filter{Unread: true})
		if err != nil {
			return out, err
		}
		one.Unread = int64(len(unread))
		out.nodes, ids = append(out.nodes, agent.Node{Agent: &one}), append(ids, one.ID)
	}
	if out.now, err = e.Agents().States(ctx, true, ids...); err != nil {
		return out, err
	}
	out.driven, err = e.Programs().DrivenAmong(ctx, out.nodes)
	return out, err
}

// Documented implements Documented.
func (AgentTree) Documented() any {
	return struct {
		Agents []public.Agent `json:"agents"`
	}{}
}

// List writes the agents one by one: there may be thousands.
func (t AgentTree) List() (string, iter.Seq[any]) {
	return "agents", func(yield func(any) bool) {
		for _, n := range t.nodes {
			one := public.FormatNow(*n.Agent, t.now)
			if one.Driven = t.driven[n.ID]; !yield(&one) {
				return
			}
		}
	}
}

func (t AgentTree) withDoing() public.AgentList {
	out := public.AgentList{Agents: make([]public.AgentNow, len(t.nodes))}
	for i, n := range t.nodes {
		out.Agents[i] = public.FormatDoing(*n.Agent, t.now)
		out.Agents[i].Driven = t.driven[n.ID]
	}
	return out
}

func writeTree(w *printer.Writer, _ PsInput, t AgentTree) {
	head := []string{"NAME", "ID", "STATE", "MESSAGES", "MAIL", "AGE"}
	if len(t.driven) > 0 {
		head = append(head, "DRIVER")
	}
	rows := append(make([][]string, 0, len(t.nodes)+1), head)
	branches := drawBranches(t.nodes)
	for i, n := range t.nodes {
		mail := "-"
		if n.Unread > 0 {
			mail = strconv.FormatInt(n.Unread, 10)
		}
		name := n.Label()
		if n.Name == "" && !n.IsZero() {
			name = "-"
		}
		messages := strconv.FormatInt(n.Own, 10) + "/" + strconv.FormatInt(n.Total, 10)
		now := text.Line(t.now.Of(*n.Agent).String(), public.MaxState)
		cells := []string{branches[i] + name, n.ID.Short(), now, messages, mail, w.Age(n.CreatedAt)}
		if len(t.driven) > 0 {
			cells = append(cells, describeDriven(t.driven[n.ID]))
		}
		rows = append(rows, cells)
	}
	w.Table(rows)
}

// describeDriven describes an agent that another program drives.
func describeDriven(d *public.Driven) string {
	if d == nil {
		return "-"
	}
	name := d.Driver
	if d.Asks != nil && !*d.Asks {
		name += "; asks: no"
	}
	if d.Spending == public.ReportedOnly {
		name += "; spending: " + public.ReportedOnly
	}
	if d.Wire != nil {
		name += "; " + strconv.FormatInt(d.Wire.Tokens, 10) + " tokens on the wire"
	}
	if d.Reported != nil {
		name += ", " + strconv.FormatInt(d.Reported.Tokens, 10) + " reported"
	}
	return name
}

// drawBranches draws the lines in front of the names. Going backwards, it
// knows for each level whether a sibling follows below. Very deep trees are
// drawn flat from a level on: a thousand bars are unreadable.
func drawBranches(nodes []agent.Node) []string {
	const deepest = 32
	out := make([]string, len(nodes))
	var more [deepest + 1]bool
	var line []byte
	for i := len(nodes) - 1; i >= 0; i-- {
		level := min(nodes[i].Indent, deepest)
		if level > 0 {
			line = line[:0]
			for l := 1; l < level; l++ {
				if more[l] {
					line = append(line, "│  "...)
				} else {
					line = append(line, "   "...)
				}
			}
			if more[level] {
				line = append(line, "├─ "...)
			} else {
				line = append(line, "└─ "...)
			}
			out[i] = string(line)
		}
		more[level] = true
		clear(more[level+1:])
	}
	return out
}

// Lineage returns what a picture of all agents in time is drawn from.
var Lineage = Op[NoInput, public.Lineage]{
	Doc: Doc{Name: "lineage", Group: "agents", ID: "getLineage", Route: "GET /api/v1/lineage 200", Faces: HTTP, Effect: Reads,
		Summary: "Get all agents that ever existed, by time, with marks, rewinds and mail: the data of a lineage graph"},
	Run: func(ctx context.Context, e *Env, _ NoInput) (public.Lineage, error) {
		return e.Agents().Lineage(ctx)
	},
}

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
	On: showAgent, Text: writeDetails, Public: publicDetails,
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

func showAgent(ctx context.Context, e *Env, a agent.Agent, in ShowInput) (out AgentDetails, err error) {
	out.agent = a
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

// RenameInput gives an agent a name.
type RenameInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" slash:"-" help:"the agent to rename"`
	Name  string   `json:"name" arg:"NAME" help:"its new name"`
}

// Check implements Checker.
func (in *RenameInput) Check() error { return At("name", agent.CheckName(in.Name)) }

// Rename renames an agent.
var Rename = Op[RenameInput, public.Agent]{
	Doc: Doc{Name: "rename", Group: "agents", Faces: CLI | Slash, Summary: "Give an agent a name"},
	On: func(ctx context.Context, e *Env, a agent.Agent, in RenameInput) (public.Agent, error) {
		a, err := e.Agents().Rename(ctx, a, in.Name)
		return public.FormatAgent(a), err
	},
	Text: func(w *printer.Writer, in RenameInput, out public.Agent) {
		w.Line("%s is now called %s", out.UUID.Short(), in.Name)
	},
}
