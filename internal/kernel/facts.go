package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	acts "ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// facts returns what is known of a finished task, for the end of its report: a report is a claim, these are facts. It
// first commits the changes in the worktree of a task that succeeded.
func (p *agentProcess) facts(ctx context.Context, a agent.Agent, j *job, o loop.Outcome, err error) string {
	if !o.Began {
		return ""
	}
	head := "[ramet] " + text.Count(o.Steps, "request")
	if took := time.Since(j.began); took >= 10*time.Second { // less is not worth mentioning
		head += ", " + took.Round(time.Second).String()
	}
	out := []string{head + "."}
	if last := p.lastCommand(a); last != "" {
		out = append(out, "Last command: "+last+".")
	}
	if p.kernel.Trees != nil {
		out = append(out, p.treeFacts(ctx, a, err == nil)...)
	}
	return strings.Join(out, " ")
}

// lastCommand is the last command that the agent ran, and how it ended.
func (p *agentProcess) lastCommand(a agent.Agent) string {
	if p.talk == nil {
		return ""
	}
	raw, result, ok := p.talk.LastCall("bash", a.Genesis)
	var args struct {
		Command string `json:"command"`
	}
	if !ok || json.Unmarshal(raw, &args) != nil || args.Command == "" {
		return ""
	}
	how := "exit 0"
	if result.IsError {
		how = "it failed"
		for line := range strings.Lines(result.Text) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "[exit code ") {
				how = "exit " + strings.TrimSuffix(strings.TrimPrefix(line, "[exit code "), "]")
			}
		}
	}
	return text.Line(args.Command, 120) + " (" + how + ")"
}

// treeFacts describes the changes in the agent's worktree.
func (p *agentProcess) treeFacts(ctx context.Context, a agent.Agent, well bool) []string {
	look := p.kernel.Trees.Look
	if well {
		look = p.kernel.Trees.Keep
	}
	w, ok, err := look(ctx, a)
	switch {
	case err != nil:
		return []string{"Its worktree could not be read: " + text.Line(err.Error(), 200) + "."}
	case !ok:
		return nil
	case len(w.Files) == 0 && w.Commits == 0:
		return []string{"It changed no file in its worktree."}
	}
	ahead := fmt.Sprintf("Branch %s, %s ahead", w.Branch, text.Count(w.Commits, "commit"))
	if w.Stat != "" { // else all that it left is new, and not committed
		ahead += ": " + w.Stat + " (" + text.FirstOf(w.Files, mostNamed) + ")"
	}
	out := []string{ahead + "."}
	if len(w.Dirty) > 0 {
		out = append(out, "Not committed: "+text.FirstOf(w.Dirty, mostNamed)+".")
	}
	return append(out, fmt.Sprintf("diff(%q) shows it, merge(%q) brings it to you.", a.Label(), a.Label()))
}

// mostNamed limits the files of a worktree that a report names.
const mostNamed = 8

// restoreTree makes the worktree of an agent anew that a merge removed.
func (p *agentProcess) restoreTree(ctx context.Context, a agent.Agent) error {
	if p.kernel.Trees == nil || a.IsZero() {
		return nil
	}
	up, ok, err := p.kernel.ancestor(ctx, a)
	if err != nil || !ok {
		return err
	}
	return p.kernel.Trees.Restore(ctx, a, up)
}

// here returns the parts before the user's prompt: the facts, if they differ from those the agent knows.
func (p *agentProcess) here(j *job) []history.Part {
	if j.facts == nil {
		return nil
	}
	facts := j.facts()
	if facts == "" || !j.prompt.Fresh && p.talk.Aside() == facts {
		return nil
	}
	return []history.Part{{Type: history.Facts, Text: facts}}
}

// surroundings holds what an agent passes on to its children.
type surroundings struct {
	model Model
	box   tool.Box
}

// Facts implements process.Kernel: what a child that knows nothing else learns about itself and
// the place.
func (h verbs) Facts(ctx context.Context, child agent.Agent) string {
	m := h.around.model
	if child.Provider != "" && child.Model != "" {
		if other, err := h.Model(child, m.Ref); err == nil {
			m = other
		}
	}
	return h.told(ctx, h.place(ctx, child), child, m, h.around.box, nil)
}

// Place returns what is known of the surroundings of an agent with this model and these tools.
type Place func(m Model, tools tool.Box) string

// place begins to look at the place of an agent; nil: it is unknown.
func (k *Kernel) place(ctx context.Context, a agent.Agent) Place {
	if k.Options.Facts == nil {
		return nil
	}
	return k.Options.Facts(ctx, a)
}

// told returns the facts at the beginning of an agent's turn: its identity, its surroundings and the time. It is empty
// if the surroundings are unknown.
func (k *Kernel) told(ctx context.Context, place Place, a agent.Agent, m Model, box tool.Box, asked *history.Budget) string {
	if place == nil {
		return ""
	}
	here := place(m, box)
	if here == "" {
		return ""
	}
	window := ""
	if m.Info.Context > 0 {
		window = fmt.Sprintf(", window %d tokens", m.Info.Context)
	}
	return "[ramet] " + k.self(ctx, a) + "; model " + m.Ref.String() + window + k.means(ctx, a, asked) + ". " + here + "\n\n"
}

// self describes an agent: its name, its parent and its children.
func (k *Kernel) self(ctx context.Context, a agent.Agent) string {
	out := "You are " + a.Label()
	if a.IsZero() {
		return out
	}
	if short := a.ID.Short(); short != a.Label() {
		out += " (" + short + ")"
	}
	if parent, err := k.Store.Agent(ctx, a.Parent); err == nil {
		out += ", a child of " + parent.Label()
	}
	return out + fmt.Sprintf(", depth %d", a.Depth)
}

// means describes the budget and time that an agent has left; asked is the budget of this prompt. It leaves out what
// can't be read and what sets no limit.
func (k *Kernel) means(ctx context.Context, a agent.Agent, asked *history.Budget) string {
	of := a.ID
	if a.Genesis == 0 || asked != nil { // it is not born yet, or has no other budget of its own any more
		of = a.Parent
	}
	var left rest
	if of != "" {
		var err error
		if left, err = restOf(ctx, k.Store, of); err != nil {
			left = rest{} // the turn says what is wrong
		}
	}
	if asked != nil {
		spent, err := k.Store.Spent(ctx, a.ID) // with what those below it spent
		if err != nil {
			spent = a.Spent
		}
		left = within(left, *asked, spent)
	}
	var out []string
	if left.Tokens != nil {
		out = append(out, fmt.Sprintf("%d tokens", *left.Tokens))
	}
	if left.Cost != nil {
		out = append(out, left.Cost.String())
	}
	if until, ok := ctx.Deadline(); ok {
		out = append(out, time.Until(until).Round(time.Second).String())
	}
	if len(out) == 0 {
		return ""
	}
	return "; budget left: " + strings.Join(out, ", ")
}

// within returns the rest that also respects b.
func within(left rest, b history.Budget, spent agent.Spending) rest {
	if rest, ok := agent.MaybeAtMost(b.Tokens).Left(spent.Tokens); ok && (left.Tokens == nil || rest < *left.Tokens) {
		left.Tokens = &rest
	}
	if rest, ok := agent.MaybeAtMost(b.Cost).Left(spent.Cost); ok && (left.Cost == nil || llm.Money(rest) < *left.Cost) {
		money := llm.Money(rest)
		left.Cost = &money
	}
	return left
}

func (w *windows) of(m llm.Ref) *loop.Window {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[llm.Ref]*loop.Window{}
	}
	if w.known[m] == nil {
		w.known[m] = &loop.Window{}
	}
	return w.known[m]
}

// recalling adds the tool that reads what is left out of a context. Who has no tools at all
// has no long turns, and gets none.
func (k *Kernel) recalling(a id.Agent, m llm.Model, box tool.Box) tool.Box {
	if len(box) == 0 {
		return box
	}
	most := 0
	if m.Context > 0 { // an answer is never more than a small part of the window
		most = int(min(acts.MostRecalled, max(1024, m.Context/8)))
	}
	return append(box[:len(box):len(box)], acts.NewRecall(k.Store, a, most))
}

// facts returns the text after a summary of the conversation: the agent's identity and its children. It leaves out what
// can't be read.
func (k *Kernel) facts(ctx context.Context, self id.Agent) string {
	a, err := k.Store.Agent(ctx, self)
	if err != nil {
		return ""
	}
	out := "You are " + a.Label()
	if parent, err := k.Store.Agent(ctx, a.Parent); !a.IsZero() && err == nil {
		out += ", a child of " + parent.Label()
	}
	if a.Cwd != "" {
		out += "; your folder is " + a.Cwd
	}
	out += "."
	if working := k.working(ctx, self); len(working) > 0 {
		out += " Your children that still work: " + strings.Join(working, ", ") + "."
	}
	if a.Unread > 0 {
		out += fmt.Sprintf(" Letters that you have not read: %d.", a.Unread)
	}
	return out
}

// working returns the children of an agent that work on their tasks in this kernel.
func (k *Kernel) working(ctx context.Context, parent id.Agent) []string {
	k.mu.Lock()
	var busy []id.Agent
	for a, p := range k.live {
		if p.tasked {
			busy = append(busy, a)
		}
	}
	k.mu.Unlock()
	var out []string
	for _, one := range busy {
		if a, err := k.Store.Agent(ctx, one); err == nil && a.Parent == parent && a.Status == agent.Running {
			out = append(out, a.Label())
		}
	}
	return out
}

// attended reports whether a person at a terminal or at the page asked for the job.
func (k *Kernel) attended(by *history.Actor) bool {
	return k.Attended || by != nil && (by.Face == history.Terminal || by.Face == history.Page)
}
