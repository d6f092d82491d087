package process

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// child is one child of a fork, and what is said about it to whom.
type child struct {
	call   tool.Call
	args   forkArgs
	child  registry.Child
	parent agent.Agent
	at     Place // its worktree, if it has one
	role   *Role // nil: it is made by no definition
}

// title is the uuid, in full because it is told here first, and the name.
func (b child) title() string {
	if b.child.Name == "" {
		return string(b.child.ID)
	}
	return fmt.Sprintf("%s (%s)", b.child.ID, b.child.Name)
}

// shown is the result for people.
func (b child) shown() string {
	return text.Line(fmt.Sprintf("forked %s: %s", b.title(), b.args.Prompt), maxSummary)
}

// toParent returns the result of fork; last marks the last child of its message, which explains for all of them how
// results arrive.
func (b child) toParent(last bool) string {
	out := b.title() + " is your child and works on its task now, "
	if b.child.Cwd != "" {
		out += "in a git worktree of its own: " + b.child.Cwd + b.at.begins() + "." + b.at.lacks("your")
	} else {
		out += "in your folder: do not both write the same files."
	}
	if b.args.Then == wakes {
		out += " Its report wakes you if your turn is over by then."
	}
	if last {
		out += " Results come by mail: continue your own work, then wait."
	}
	if out += b.thinks() + b.apart(); b.call.Note != "" {
		out += "\n" + b.call.Note
	}
	return out
}

// begins describes the commit at which a worktree begins.
func (p Place) begins() string {
	out := ""
	if p.Branch != "" {
		out = ", branch " + p.Branch
	}
	if len(p.Base) > 8 {
		out += " from " + p.Base[:8]
	}
	if p.Brought > 0 {
		out += " with " + text.Count(p.Brought, "uncommitted file")
	}
	return out
}

// lacks names the files of the parent that a worktree does not have.
func (p Place) lacks(whose string) string {
	if len(p.Missing) == 0 {
		return ""
	}
	return " It lacks " + whose + " uncommitted changes of " + text.FirstOf(p.Missing, 8) + "."
}

// thinks describes the cost of another reasoning effort.
func (b child) thinks() string {
	if b.args.Effort == "" {
		return ""
	}
	return " It thinks with effort " + string(b.args.Effort) + ": if yours is another, its first request finds less in the cache."
}

// apart describes the cost of other tools or another model for a child that inherits the conversation: it can't use what
// vendors cached for the parent.
func (b child) apart() string {
	switch {
	case b.role == nil || b.args.Context == nothing:
		return ""
	case b.role.Model != "":
		return " It has another model: its first request finds nothing in the cache."
	case b.role.Limit != nil:
		return " It has not all of your tools: its first request finds nothing in the cache."
	}
	return ""
}

// toChild begins the child's own life.
func (b child) toChild(siblings string) string {
	knows := "the conversation up to here is what you both remember, but its task is not yours"
	if b.args.Context == nothing {
		knows = "you know nothing of its conversation but the task that follows"
	}
	files := "You share your parent's folder."
	if b.child.Cwd != "" {
		files = "You work in a git worktree of your own, " + b.child.Cwd + b.at.begins() + "; paths in " + b.parent.Cwd + " are your parent's. What you leave is committed on your branch." + b.at.lacks("your parent's")
	}
	out := fmt.Sprintf("You are the child %s. Your parent is %s; %s. Your task follows; it comes from your parent, within what the user wants. %s",
		b.title(), parentTitle(b.parent), knows, files)
	if b.args.Context != nothing { // who knows nothing else is told with the facts
		out += fmt.Sprintf(" Your depth is %d.", b.parent.Depth+1)
	}
	if siblings != "" {
		out += " " + siblings
	}
	return out + " Your last words are mailed to your parent: what you changed, how you checked it, what is open. " +
		"You cannot ask the user; if you need a decision, end with the question: your parent's answer wakes you."
}

func (b child) toSibling() string {
	return b.title() + " is a sibling of yours. Leave its task to it."
}

// does is a child's task in some words, for its siblings, unless there are many.
func (b child) does(of int) string {
	if of > manySiblings {
		return ""
	}
	return " (" + text.Line(b.args.Prompt, 60) + ")"
}

// siblingsOf is one line about the others, however many they are.
func siblingsOf(children []child, but int) string {
	const most = 6
	if len(children) == 1 {
		return ""
	}
	var names []string
	for i, b := range children {
		switch {
		case i == but:
		case len(names) == most:
			return fmt.Sprintf("Your siblings are %s and %d more; leave their tasks to them.", strings.Join(names, ", "), len(children)-1-most)
		case b.child.Name != "":
			names = append(names, b.child.Name+b.does(len(children)))
		default:
			names = append(names, b.child.ID.Short()+b.does(len(children)))
		}
	}
	return fmt.Sprintf("Your siblings are %s; leave their tasks to them.", strings.Join(names, ", "))
}

// parentTitle returns a name of the parent that stays valid: names change.
func parentTitle(a agent.Agent) string {
	if a.Label() == a.ID.Short() {
		return string(a.ID)
	}
	return fmt.Sprintf("%s (%s)", a.Label(), a.ID)
}

// result drafts what the call of this child returns.
func (b child) result(text, show string) history.Draft {
	return history.Draft{Kind: history.ToolResult, Parts: []history.Part{
		{Type: history.Result, CallID: b.call.ID, Name: forkSpec().Name, Text: text, Show: show}}}
}

// manySiblings is from how many children of one message on each begins before that message:
// it would carry the tasks of all the others.
const manySiblings = 8

// entries returns the first entries of the child's own history. A child that inherits needs a result for each call in
// its parent's last message; with an empty context there are no calls, and each of very many children begins before that
// message. before is the entry that the message follows; 0 if unknown.
func entries(children []child, which int, before id.Message) ([]history.Draft, error) {
	own := children[which]
	prompt, err := history.Say(history.User, own.args.Prompt)
	if err != nil {
		return nil, err
	}
	drafts := make([]history.Draft, 0, len(children)+3)
	if own.args.Effort != "" {
		drafts = append(drafts, registry.EffortEntry(own.args.Effort))
	}
	if prompt.Meta.Then = history.ThenMail; own.args.Then == wakes {
		prompt.Meta.Then = history.ThenWake
	}
	head := history.Draft{Kind: history.Notice, Parts: []history.Part{{Type: history.Text, Text: own.toChild(siblingsOf(children, which))}}}
	switch {
	case own.args.Context == nothing:
		return append(drafts, history.NewClear(), head, prompt), nil
	case len(children) > manySiblings && before != 0:
		return append(drafts, history.NewRewind(before, ""), head, prompt), nil
	}
	for i, b := range children {
		if i == which {
			drafts = append(drafts, b.result(b.toChild(""), ""))
		} else {
			drafts = append(drafts, b.result(b.toSibling(), ""))
		}
	}
	return append(drafts, prompt), nil
}

// place puts facts before the task of a child that knows nothing else.
func (f fork) place(ctx context.Context, b child) {
	places, ok := f.kernel.(Places)
	if !ok || b.args.Context != nothing {
		return
	}
	a := agent.Agent{ID: b.child.ID, Name: b.child.Name, Parent: b.parent.ID, Depth: b.parent.Depth + 1, Status: agent.Running,
		Cwd: b.child.Cwd, Provider: b.child.Provider, Model: b.child.Model}
	if a.Cwd == "" {
		a.Cwd = b.parent.Cwd
	}
	if facts := places.Facts(ctx, a); facts != "" {
		task := &b.child.Entries[len(b.child.Entries)-1]
		task.Parts = append([]history.Part{{Type: history.Facts, Text: facts}}, task.Parts...)
	}
}

// Role describes a child that a definition creates.
type Role struct {
	Entry           history.Draft // what it is told first
	Provider, Model string        // empty: its parent's
	Inherit         bool          // it knows its parent's conversation, unless the call says otherwise
	Worktree        bool
	Effort          llm.Effort      // empty: its parent's
	Budget          *history.Budget // what it may spend; nil: what its parent has left
	Limit           *history.Limit  // what it has of its parent's tools; nil: all
}

// Bounds drafts what a role may not exceed, its budget and its tools; nothing: as its parent.
func (r Role) Bounds() []history.Draft {
	var out []history.Draft
	if r.Budget != nil {
		out = append(out, history.Draft{Kind: history.Command, Meta: history.Meta{Command: registry.BudgetCommand, Budget: r.Budget}})
	}
	if r.Limit != nil {
		out = append(out, registry.LimitEntry(*r.Limit))
	}
	return out
}

// Roles finds definitions of agents by their names; a kernel that has some is one.
type Roles interface {
	// Role is NOT_FOUND where nothing of that name is defined.
	Role(name string) (Role, error)
	// Defined reports whether there are any definitions.
	Defined() bool
}

// play makes a planned child one of a role.
func (f fork) play(c *child) error {
	if c.args.definition() == "" {
		return nil
	}
	roles, ok := f.kernel.(Roles)
	if !ok {
		return fault.New(fault.NotFound, "no agent %.60q is defined", c.args.definition())
	}
	r, err := roles.Role(c.args.definition())
	if err != nil {
		return err
	}
	c.role = &r
	if c.args.Context == "" && !r.Inherit {
		c.args.Context = nothing
	}
	c.args.Worktree = c.args.Worktree || r.Worktree
	if c.args.Effort == "" {
		c.args.Effort = r.Effort
	}
	c.child.Provider, c.child.Model = r.Provider, r.Model
	return nil
}

// begin puts what a role is told before the child's prompt, which is the last of its entries.
func (c child) begin(entries []history.Draft) []history.Draft {
	if c.role == nil || len(entries) == 0 {
		return entries
	}
	return slices.Insert(entries, len(entries)-1, append(c.role.Bounds(), c.role.Entry)...)
}

// Drivers finds programs that drive agents by their names; a kernel that has some is one.
type Drivers interface {
	// Driver returns the placeholder of the child's model. It returns NOT_FOUND if there is no such program or it isn't
	// installed.
	Driver(name string) (llm.Ref, error)
	// Drivers are the names of those that are installed.
	Drivers() []string
}

// starts returns the program that a call would start for its child: the one that it names, or that
// the definition names.
func (f fork) starts(args json.RawMessage) string {
	a, err := decode[forkArgs](args)
	if err != nil {
		return ""
	}
	if roles, ok := f.kernel.(Roles); ok && a.Driver == "" && a.definition() != "" {
		r, err := roles.Role(a.definition())
		if err != nil {
			return ""
		}
		a.Driver, _, _ = agent.SplitDriver(r.Provider, r.Model)
	}
	return a.Driver
}

// drive lets another program drive a planned child.
func (f fork) drive(c *child) error {
	if c.args.Driver == "" {
		return nil
	}
	drivers, ok := f.kernel.(Drivers)
	if !ok {
		return fault.New(fault.NotFound, "no driver %.60q is known", c.args.Driver)
	}
	ref, err := drivers.Driver(c.args.Driver)
	if err != nil {
		return err
	}
	c.child.Provider, c.child.Model = ref.Vendor, ref.Name
	return nil
}
