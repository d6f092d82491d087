// Package process has the tools with which a model acts on agents as a process acts on processes: fork,
// kill, send, check_mail, read_mail, wait, ps, look, exit; those that bring back the work of children
// (diff, merge); and recall, which reads what is no longer in the context.
//
// They run without asking, within budget and descent: an agent forks itself, kills its descendants
// only, and reads its own mail only. Mail is data: it enters a context as a tool result that names
// sender and time.
//
//   - fork writes the results of all fork calls of a message itself, together with the children and
//     their first entries: a fork returns twice, or not at all.
//   - read_mail and wait write their results together with the read marks: no mail is marked and lost,
//     or read and still unread.
//   - exit leaves its call without a result: the agent is dead, and nothing is appended to a history
//     after its end. Its answer says Recorded.
//   - recall reads the whole history back to the last clear, with what was inherited, entry by entry and
//     to the last byte, within the requested size. Redacted text stays redacted.
//   - The turn records the answers of all others.
//
// A refusal that concerns the request (no such agent, a name that is taken, a mail that is too long) is
// an answer for the model. A lost lease, a failing store or a cancelled context is an error and ends
// the turn.
package process

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/core/toolinfo"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// Kernel is the part of the agent's kernel that the tools use. It fills in the claims of verbs, because it holds the
// agent's lease.
type Kernel interface {
	// Fork makes the children in one transaction, with the entries of both sides,
	// and starts a turn of each child, for the prompt that its entries end with.
	// Children are returned if and only if they exist; with none, nothing happened.
	Fork(ctx context.Context, f registry.Fork) ([]agent.Agent, error)
	// Before is the entry that the message follows whose calls run now; 0: none, or nobody
	// knows.
	Before() id.Message
	// Kill ends an agent; when it returns, nothing of the victims runs.
	Kill(ctx context.Context, k registry.Kill) (registry.Killed, error)
	// Send puts a letter into a mailbox and wakes its owner.
	Send(ctx context.Context, s registry.Send) (mail.Letter, error)
	// Read marks a letter and writes the entries in one transaction.
	Read(ctx context.Context, r registry.Read) (l mail.Letter, ok bool, err error)
	// Await blocks until what the agent waits for has come, the time is over, or nobody
	// is left from whom it could come.
	Await(ctx context.Context, w Wait) (Waited, error)
	// HandOver lets the reports of those who still work for the agent wake it, and says
	// who they are.
	HandOver(ctx context.Context) ([]id.Agent, error)
	// Exit ends the agent itself, of its own will: the result goes to its parent as
	// a letter.
	Exit(ctx context.Context, a id.Agent, result string) error
	// Worktree gives a child a git worktree of its own; undo takes it away again.
	Worktree(ctx context.Context, parent agent.Agent, child id.Agent, name string) (at Place, undo func(), err error)
	// Worktrees are the git worktrees in which agents work; nil: there are none.
	Worktrees() Trees
	// Recent reads the newest own entries of an agent, newest first.
	Recent(ctx context.Context, a id.Agent, most int) ([]history.Entry, error)
	// Sources returns the sources of agents' states.
	Sources() state.Sources
	// Facts returns what a child that is not born yet should know of itself, the place and the moment; empty: nothing.
	Facts(ctx context.Context, child agent.Agent) string
	// Role finds a definition of agents; NOT_FOUND if there is none of that name.
	Role(name string) (Role, error)
	// Defined reports whether there are any definitions.
	Defined() bool
	// Driver returns the placeholder of the model of a child that another program drives. It returns NOT_FOUND if there
	// is no such program or it isn't installed.
	Driver(name string) (llm.Ref, error)
	// Drivers returns the names of those that are installed.
	Drivers() []string
}

// Place is a git worktree that was just made for a child.
type Place struct {
	Dir     string // where it works
	Branch  string
	Base    string   // the commit that it begins at
	Brought int      // files that are not committed, and came from its parent
	Missing []string // files of its parent that are not committed, and did not
}

// Wait selects what an agent waits for.
type Wait struct {
	From    []id.Agent // letters of these, the empty one is the user; none: of anybody
	All     bool       // until none of them works any more; without From: who works for it
	Timeout time.Duration
}

// Waited describes how a wait ended.
type Waited struct {
	Came    bool       // an unread letter of those is there
	Late    bool       // the time was over first
	Working []id.Agent // who of them still works; nobody: nobody is left who could write
}

// From reports whether a message is from one of these agents or about one; an empty list accepts any.
func From(l mail.Letter, from []id.Agent) bool {
	return len(from) == 0 || slices.Contains(from, l.From) || l.From == id.Kernel && slices.Contains(from, l.About)
}

// People is the part of the registry that the tools read.
type People interface {
	agent.Directory
	mail.Boxes
	history.Orders
}

// New is the tools of one agent.
func New(k Kernel, p People, self id.Agent) tool.Box {
	a := actor{k, p, self}
	box := tool.Box{newFork(a), verb[killArgs]{a, killSpec, actor.kill}, verb[sendArgs]{a, sendSpec, actor.send}, verb[fromArgs]{a, checkMailSpec, actor.checkMail},
		verb[readArgs]{a, readMailSpec, actor.readMail}, verb[waitArgs]{a, waitSpec, actor.wait}, verb[psArgs]{a, psSpec, actor.ps},
		verb[lookArgs]{a, lookSpec, actor.look}, verb[exitArgs]{a, exitSpec, actor.exit}}
	if k.Worktrees() != nil {
		box = append(box, verb[treeArgs]{a, diffSpec, actor.diff}, verb[treeArgs]{a, mergeSpec, actor.merge})
	}
	return box
}

// actor is the agent that acts, with what it acts through.
type actor struct {
	kernel Kernel
	people People
	self   id.Agent
}

// Words that stand for a caller in arguments; no child may be called so.
const (
	theUser   = "user"   // the user, as a sender of mail
	theParent = "parent" // the nearest living ancestor
)

// me reads the agent's own row.
func (a actor) me(ctx context.Context) (agent.Agent, error) { return a.people.Agent(ctx, a.self) }

// find reads the agent that the model means.
func (a actor) find(ctx context.Context, ref string) (agent.Agent, error) {
	if ref == theParent {
		return a.parent(ctx)
	}
	return agent.Find(ctx, a.people, ref)
}

// parent returns the nearest living ancestor, to whom mail goes up.
func (a actor) parent(ctx context.Context) (agent.Agent, error) {
	up, err := a.me(ctx)
	if err == nil && up.IsZero() {
		return up, fault.New(fault.NotFound, "you are agent 0 and have no parent").
			WithHint("what you say reaches the user")
	}
	for err == nil {
		if up, err = a.people.Agent(ctx, up.Parent); err == nil && (up.Status == agent.Running || up.IsZero()) {
			return up, nil
		}
	}
	return up, err
}

// descends reports whether one agent is below another, even if agents between them died.
func (a actor) descends(ctx context.Context, who, from agent.Agent) (bool, error) {
	for who.Depth > from.Depth {
		var err error
		if who, err = a.people.Agent(ctx, who.Parent); err != nil {
			return false, err
		}
		if who.ID == from.ID {
			return true, nil
		}
	}
	return false, nil
}

// descendant reads the agent's own row and that of an agent that must descend from it; hint is the remedy if it does not.
func (a actor) descendant(ctx context.Context, ref, hint string) (me, child agent.Agent, err error) {
	if me, err = a.me(ctx); err != nil {
		return me, child, err
	}
	if child, err = a.find(ctx, ref); err != nil {
		return me, child, err
	}
	below, err := a.descends(ctx, child, me)
	if err == nil && !below {
		err = fault.New(fault.Usage, "%s does not descend from you", title(child)).WithHint("%s", hint)
	}
	return me, child, err
}

// titles names the senders of letters: the name with the short id, so that no agent
// can pass for another, and the user by a name that no agent can have.
func (a actor) titles(ctx context.Context, letters []mail.Letter) (map[id.Agent]string, error) {
	known := map[id.Agent]string{"": "the user", id.Kernel: "ramet"}
	for _, l := range letters {
		if _, ok := known[l.From]; ok {
			continue
		}
		row, err := a.people.Agent(ctx, l.From)
		if err != nil {
			return nil, err
		}
		known[l.From] = title(row)
	}
	return known, nil
}

// title returns an agent in a sentence: its name and its short id.
func title(a agent.Agent) string {
	if a.Label() == a.ID.Short() {
		return a.Label()
	}
	return fmt.Sprintf("%s (%s)", a.Label(), a.ID.Short())
}

// stamp returns a time as the model reads it. An age would differ from replay to replay.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// decode reads arguments that have the shape of T.
func decode[T any](raw json.RawMessage) (T, error) {
	var args T
	if err := json.Unmarshal(raw, &args); err != nil {
		return args, fault.New(fault.Usage, "the arguments are not readable: %w", err)
	}
	return args, nil
}

// summary returns one line about a call, for people, from arguments of any form.
func summary[T any](line func(T) string) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		args, err := decode[T](raw)
		if err != nil {
			return text.Line(string(raw), maxSummary)
		}
		return text.Line(line(args), maxSummary)
	}
}

const maxSummary = 120

// concerns are the faults that a model can do something about.
var concerns = map[fault.Code]bool{
	fault.NotFound: true, fault.DeadAgent: true, fault.Conflict: true, fault.Ambiguous: true, fault.AgentZero: true,
	fault.BudgetExceeded: true, fault.Leased: true, fault.IllegalTransition: true, fault.TimedOut: true,
	fault.Usage: true, fault.InvalidID: true, fault.InvalidName: true, fault.InvalidLabel: true, fault.InvalidText: true,
	fault.InvalidKind: true, fault.InvalidConfig: true, fault.Denied: true, fault.Untrusted: true, fault.Failed: true,
}

// here turns hints about commands into hints about tools.
var here = strings.NewReplacer("`ramet ps --all`", "the tool ps", "`ramet mail`", "the tool check_mail")

// verb is a tool whose arguments are an A.
type verb[A any] struct {
	actor
	spec func() tool.Spec
	run  func(a actor, ctx context.Context, c tool.Call, args A) (tool.Answer, error)
}

func (v verb[A]) Spec() tool.Spec { return v.spec() }

// Run implements tool.Tool.
func (v verb[A]) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	args, err := decode[A](c.Args)
	if err != nil {
		return refuse(ctx, err)
	}
	out, err := v.run(v.actor, ctx, c, args)
	if err != nil {
		return refuse(ctx, err)
	}
	return out, nil
}

// toolResult drafts the result of a call.
func toolResult(c tool.Call, text, show string) history.Draft {
	return history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: c.ID, Name: c.Name, Text: text, Show: show}}}
}

// refuse returns the answer to a request that was refused. Other errors are passed on,
// and all errors once the context has ended, because nothing reads an answer then.
func refuse(ctx context.Context, err error) (tool.Answer, error) {
	if f, ok := fault.Of(err); ok && concerns[f.Code] && ctx.Err() == nil {
		return tool.Failed(here.Replace(f.Error())), nil
	}
	return tool.Answer{}, err
}

var childrenSpec = sync.OnceValue(func() tool.Spec {
	return tool.Describe("children", tool.Spec{Args: shape.Object()})
})

// Alone returns the box of an agent that works on a task of its own, of which it alone knows: it is
// told of what it needs for that, and of one tool by which it is notified of the rest.
func Alone(box tool.Box) tool.Box {
	return append(box[:len(box):len(box)], &children{})
}

// children is the tool that lets an agent know of its others.
type children struct{ open atomic.Bool }

type childrenMemo struct {
	Open bool `json:"children"`
}

func (*children) Spec() tool.Spec { return childrenSpec() }

// Covers implements tool.Cover.
func (c *children) Covers(name string) bool {
	if c.open.Load() {
		return name == childrenSpec().Name
	}
	info := toolinfo.Find(name)
	return info != nil && !info.Alone
}

// Recall implements tool.Memory.
func (c *children) Recall(memos iter.Seq[json.RawMessage]) {
	open := false
	for raw := range memos {
		var m childrenMemo
		open = open || json.Unmarshal(raw, &m) == nil && m.Open
	}
	c.open.Store(open)
}

func (c *children) Run(context.Context, tool.Call) (tool.Answer, error) {
	c.open.Store(true)
	memo, err := json.Marshal(childrenMemo{true})
	return tool.Answer{Text: "You have all tools from now on. A child is you, continued: fork where parts take more than a few steps each; " +
		"two agents must not write one file in one folder. Then wait, look at what they did, and merge it.", Memo: string(memo)}, err
}
