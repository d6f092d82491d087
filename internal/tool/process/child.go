package process

import (
	"fmt"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/registry"
	"ramet/internal/text"
	"ramet/internal/tool"
)

// child is one child of a fork, and what is said about it to whom.
type child struct {
	call   tool.Call
	args   forkArgs
	child  registry.Child
	parent agent.Agent
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

func (b child) toParent() string {
	files := "Files are shared: you both work in the same folder."
	if b.child.Cwd != "" {
		files = "It has a git worktree of its own: " + b.child.Cwd + "."
	}
	return b.title() + " is your child and works on its task now. You are the parent: go on with your own work. " +
		"When it has finished, its result comes to you as a letter: see wait and read_mail. " + files + b.thinks()
}

// thinks says what another effort costs.
func (b child) thinks() string {
	if b.args.Effort == "" {
		return ""
	}
	return " It thinks with effort " + string(b.args.Effort) + ": if yours is another, its first request finds less in the cache."
}

func (b child) toChild() string {
	files := "Files are shared with your parent."
	if b.child.Cwd != "" {
		files = "You work in a git worktree of your own: " + b.child.Cwd + "."
	}
	return fmt.Sprintf("You are the child %s. Your parent is %s; the conversation up to here is what you both remember. "+
		"Your task follows. When it is done, your last words go to your parent as a letter. %s", b.title(), parentTitle(b.parent), files)
}

func (b child) toSibling() string {
	return b.title() + " was forked by your parent: a sibling of yours, with a task of its own. Leave that task to it."
}

// parentTitle is how a child can write to its parent for ever: names change.
func parentTitle(a agent.Agent) string {
	if a.Label() == a.ID.Short() {
		return string(a.ID)
	}
	return fmt.Sprintf("%s (%s)", a.Label(), a.ID)
}

// result drafts what the call of this child returns.
func (b child) result(text, show string) history.Draft {
	return history.Draft{Kind: history.ToolResult, Parts: []history.Part{
		{Type: history.Result, CallID: b.call.ID, Name: forkSpec.Name, Text: text, Show: show}}}
}

// entries are what the child's own history begins with. One that inherits has the
// calls of its parent's last message in its context, and so needs a result for each
// of them; behind a wall there are no calls.
func entries(children []child, child int) ([]history.Draft, error) {
	own := children[child]
	prompt, err := history.Say(history.User, own.args.Prompt)
	if err != nil {
		return nil, err
	}
	drafts := make([]history.Draft, 0, len(children)+2)
	if own.args.Effort != "" {
		drafts = append(drafts, registry.EffortEntry(own.args.Effort))
	}
	if own.args.Context == nothing {
		return append(drafts, history.NewClear(), prompt), nil
	}
	for i, b := range children {
		if i == child {
			drafts = append(drafts, b.result(b.toChild(), ""))
		} else {
			drafts = append(drafts, b.result(b.toSibling(), ""))
		}
	}
	return append(drafts, prompt), nil
}
