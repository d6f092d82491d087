package public

import (
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// Home is everybody who lives, as the screens of all agents show them.
type Home struct {
	Rows   []HomeRow   `json:"rows"` // by group, in the order in which they are shown
	Groups []HomeGroup `json:"groups"`
	Agents int         `json:"agents"` // the living, folded ones too
	Asking int         `json:"asking"` // questions to a person, one an agent
	Spent  Spent       `json:"spent"`  // by all, the dead included
	Budget Budget      `json:"budget"` // of agent 0
}

// HomeGroup is a group and how many rows are in it; empty ones are told too.
type HomeGroup struct {
	Group string `json:"group"` // needs you, working, done, idle
	Count int    `json:"count"`
}

// HomeRow is one agent, or a run with everybody who works for it.
type HomeRow struct {
	UUID   id.Agent  `json:"uuid"`
	Name   string    `json:"name"`
	Group  string    `json:"group"`
	State  State     `json:"state"`
	Does   string    `json:"does"`        // the state in one word
	Indent int       `json:"indent"`      // under the nearest row above it with a smaller one
	Last   bool      `json:"last"`        // of the children under the same row
	Path   []string  `json:"path"`        // whom it hangs under, root first, where that is not a row of its group
	Parent *id.Agent `json:"parent_uuid"` // nearest living ancestor
	Asked  *string   `json:"asked"`       // what it was told last, on one line
	Said   *string   `json:"said"`        // the last line that it said; of one that asks, what; of one that failed, why
	Model  *string   `json:"model"`
	Driver *string   `json:"driver"` // another program that drives it
	Spent  Spent     `json:"spent"`  // of a run: by all who work for it
	Since  string    `json:"since"`  // when it was asked, where it works; else when it last wrote
	Ticks  bool      `json:"ticks"`  // its age is that of work under way
	Unread int64     `json:"unread_mail"`
	Below  int       `json:"below"`  // the living below it: a kill ends these too
	Folded int       `json:"folded"` // of those, the ones that this row stands for

	Change *HomeChange `json:"change"` // of one with a worktree of its own
	Run    *HomeRun    `json:"run"`    // of a run's agent
}

// HomeChange counts the changes in a worktree that the parent's folder does not have.
type HomeChange struct {
	Branch  string `json:"branch"`
	Files   int    `json:"files"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// HomeRun is the progress of a run.
type HomeRun struct {
	ID    string `json:"run_id"`
	State string `json:"run_state"`
	Done  int    `json:"done"` // of its work items
	Of    int    `json:"of"`
}

// FormatHome is the shape of a table.
func FormatHome(t HomeTable) Home {
	out := Home{Rows: []HomeRow{}, Agents: t.Agents, Asking: t.Asking, Spent: Spent(t.Spent), Budget: formatBudget(t.Budget)}
	for _, g := range HomeSections() {
		out.Groups = append(out.Groups, HomeGroup{string(g), t.Counts[g]})
	}
	for _, r := range t.Rows {
		out.Rows = append(out.Rows, formatRow(r))
	}
	return out
}

func formatRow(r HomeEntry) HomeRow {
	out := HomeRow{UUID: r.ID, Name: r.Name, Group: string(r.Group), State: *FormatState(r.State), Does: r.Does, Indent: r.Indent, Last: r.Last,
		Path: append([]string{}, r.Path...), Parent: Optional(r.Parent), Asked: Optional(r.Asked), Said: Optional(r.Said), Model: Optional(r.Model),
		Driver: Optional(r.Driver), Spent: Spent(r.Spent), Since: Stamp(r.Since), Ticks: r.Ticks, Unread: r.Unread, Below: r.Below, Folded: r.Folded, Run: r.Run}
	if r.Change.Branch != "" {
		out.Change = &r.Change
	}
	return out
}

func formatBudget(b agent.Budget) (out Budget) {
	if n, ok := b.Tokens.Get(); ok {
		out.Tokens = &n
	}
	if n, ok := b.Cost.Get(); ok {
		out.Cost = &n
	}
	return out
}
