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
	"slices"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
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
}

// Place is a git worktree that was just made for a child.
type Place struct {
	Dir     string // where it works
	Branch  string
	Base    string   // the commit that it begins at
	Brought int      // files that are not committed, and came from its parent
	Missing []string // files of its parent that are not committed, and did not
}

// Places knows what a child should know of itself, the place and the moment; a kernel that
// does is one.
type Places interface {
	// Facts is for a child that is not born yet; empty: nothing.
	Facts(ctx context.Context, child agent.Agent) string
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
}

// New is the tools of one agent.
func New(k Kernel, p People, self id.Agent) tool.Box {
	a := actor{k, p, self}
	box := tool.Box{newFork(a), verb[killArgs]{a, killSpec, actor.kill}, verb[sendArgs]{a, sendSpec, actor.send}, verb[fromArgs]{a, checkMailSpec, actor.checkMail},
		verb[readArgs]{a, readMailSpec, actor.readMail}, verb[waitArgs]{a, waitSpec, actor.wait}, verb[psArgs]{a, psSpec, actor.ps},
		verb[lookArgs]{a, lookSpec, actor.look}, verb[exitArgs]{a, exitSpec, actor.exit}}
	if k != nil && k.Worktrees() != nil {
		box = append(box, verb[treeArgs]{a, diffSpec, actor.diff}, verb[treeArgs]{a, mergeSpec, actor.merge})
	}
	return box
}
