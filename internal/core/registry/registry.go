// Package registry is the verbs that change a workspace. Each touches several
// tables and is one transaction: it happens whole or not at all, and when it
// returns it is durable. Agents, histories and mail do not know each other;
// here they meet.
package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
)

// Registry is the writing side of a workspace. All verbs are safe for
// concurrent use, from several processes and, on PostgreSQL, several hosts.
//
// A verb that writes a history takes a Claim and fails with LEASED or FENCED
// when the claim is not good, with DEAD_AGENT when the writer is dead, and with
// CONFLICT when the claim names a head that is no longer the newest entry.
type Registry interface {
	// Append writes entries to the end of one history, in order.
	Append(ctx context.Context, a id.Agent, c agent.Claim, drafts ...history.Draft) ([]history.Entry, error)
	// Fork makes children of one parent, all at the same fork point. Its cost
	// does not depend on the length of any history. CONFLICT when a living
	// agent has one of the names.
	Fork(ctx context.Context, f Fork) ([]agent.Agent, error)
	// Kill ends an agent, with its whole subtree if asked. It needs no lease:
	// it raises the epoch of every victim first, so that a holder's later
	// writes are refused. Killing the dead changes nothing.
	Kill(ctx context.Context, k Kill) (Killed, error)
	// Rename gives a living agent a name, or takes it away with "".
	Rename(ctx context.Context, a id.Agent, c agent.Claim, name string) (agent.Agent, error)
	// Send puts a letter into a mailbox and a mail entry into the sender's
	// history. The user's letters (From empty) have no sender's history.
	Send(ctx context.Context, s Send) (mail.Letter, error)
	// Read marks a letter as read and appends what the reader's history says
	// about it, if anything. ok is false when no letter is waiting.
	Read(ctx context.Context, r Read) (l mail.Letter, ok bool, err error)
	// Redact deletes the content of an entry of any kind from the database and
	// records that. Links stay whole. Redacting twice changes nothing.
	Redact(ctx context.Context, a id.Agent, c agent.Claim, m id.Message) error
}

// Fork asks for children of one parent.
type Fork struct {
	Parent   id.Agent
	Claim    agent.Claim
	Children []Child
	Entries  []history.Draft // the parent's, behind its fork entry
	Run      string          // they are made for this run: no matter of the parent's conversation
	// Holder has the lease of the children from their birth, for Tenure; empty: none.
	Holder string
	Tenure time.Duration
}

// Child is one agent to be made.
type Child struct {
	ID                   id.Agent // drawn by the caller with id.NewAgent, so that entries may name it
	Name                 string   // optional
	Provider, Model, Cwd string   // empty: the parent's
	Entries              []history.Draft
}

// Kill asks for an end.
type Kill struct {
	Agent   id.Agent
	Cascade bool
	By      id.Agent // empty: the user
	Reason  string
}

// Killed reports the outcome of a kill.
type Killed struct {
	Agent   agent.Agent   // the one named, as it is now
	Victims []agent.Agent // those that were running, the one named first, parents before children
	Before  bool          // it was dead already
}

// Send asks for a letter.
type Send struct {
	From      id.Agent // empty: the user; id.Kernel: the kernel
	About     id.Agent // of the kernel's: whom it tells of
	Claim     agent.Claim
	To        id.Agent
	Body      string
	InReplyTo int64 // number of a letter in the sender's mailbox; 0: none
	Most      int   // how many unread letters the mailbox may hold with it, else CONFLICT; 0: any number
	// Reason reports that the letter reports how the sender's task ended (state.Well, or why
	// not); its history keeps that. Empty: it reports nothing.
	Reason string
}

// Read asks for a letter of a mailbox.
type Read struct {
	Owner   id.Agent
	Number  int64   // 0: the oldest unread
	Also    []int64 // others that are marked with it
	Claim   agent.Claim
	Entries func(mail.Letter) []history.Draft // nil: the history says nothing
}

// Feed reads what happened in a workspace. Entries of one history and letters of one
// mailbox come in their order; between histories the order may differ from reader
// to reader, as their transactions ended.
type Feed interface {
	// Changes returns up to limit changes after the cursor and the cursor
	// behind them. A change that was under way in another transaction when the
	// cursor was made is never skipped. The empty cursor is the beginning;
	// a cursor that is not ours is refused with INVALID_ID.
	Changes(ctx context.Context, after Cursor, limit int) ([]Change, Cursor, error)
	// Latest is the cursor behind everything that is durable now, at a cost that
	// does not depend on how much that is.
	Latest(ctx context.Context) (Cursor, error)
}

// Cursor is a place in the feed; its text means nothing to anybody else.
type Cursor string

// Change is an entry or a letter that became durable. Exactly one is set.
type Change struct {
	Entry  *history.Entry
	Letter *mail.Letter
}

// Swept counts what a GC dropped.
type Swept struct {
	Blobs int64 `json:"blobs"`
	Bytes int64 `json:"bytes"`
}

// Description describes what doctor tells of a store.
type Description struct {
	Engine   string // sqlite or postgres
	Version  string // of the engine
	Place    string // file, or host and schema; never a password
	Schema   int    // number of the newest migration
	ReadOnly bool
	Now      time.Time // the database's time
	Problems []string  // what the engine's own check found
}

// Ties hold the connections between all histories, besides forks: what turned them, and the
// letters between them.
type Ties struct {
	Shaping []history.Entry          // what shaped them (Kind.Shapes), by id
	Times   map[id.Message]time.Time // when the entries were written to which those of Shaping go back
	Letters []mail.Letter            // of all mailboxes, hidden ones too, by id; without their bodies
	More    bool                     // older ones were left out
}

// LastOrder returns the newest command that an agent was given and that is asked for: to itself, or to
// an ancestor before the agent was born. of is the agent whose history contains it; empty: there is none.
func LastOrder(ctx context.Context, log history.Log, a id.Agent, is func(history.Meta) bool) (told history.Meta, of id.Agent, _ error) {
	line, err := log.Lineage(ctx, a)
	if err != nil {
		return told, "", err
	}
	end := history.NoLimit
	for _, one := range line {
		for e, err := range log.QueryRange(ctx, history.Range{Agent: one.Agent, End: end}, history.Selection{Orders: true}) {
			if err != nil {
				return told, "", err
			}
			m, err := e.Decode()
			if err != nil {
				return told, "", err
			}
			if is(m) {
				told, of = m, one.Agent
			}
		}
		if of != "" {
			return told, of, nil
		}
		end = history.UpTo(one.ForkMessage)
	}
	return told, "", nil
}

// Task records how an agent began its work.
type Task struct {
	Then  history.Then // what its report does; empty: no agent forked it for a task
	Alone bool         // it knows nothing but its task, and no definition made it
}

// TaskOf reads an agent's task: the first that a user's voice says in its own history.
func TaskOf(ctx context.Context, log history.Log, a id.Agent) (Task, error) {
	task, _, err := FirstTask(ctx, log, a)
	return task, err
}

// FirstTask returns what TaskOf does, and whether a user's voice has spoken: from then on the task stays what it is.
func FirstTask(ctx context.Context, log history.Log, a id.Agent) (_ Task, told bool, _ error) {
	wall, defined := false, false
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a}, history.Selection{}) {
		if err != nil {
			return Task{}, false, err
		}
		switch e.Kind {
		case history.Clear:
			wall = true
		case history.System:
			defined = true
		case history.User:
			m, err := e.Decode()
			return Task{m.Then, wall && !defined && m.Then != ""}, err == nil, err
		}
	}
	return Task{}, false, nil
}

// Words are the newest of an agent's own history, for lists: each is one line.
type Words struct {
	Asked   string    // what it was told last, by a person or as its task; empty: nothing yet
	AskedAt time.Time // zero: never
	Said    string    // the last line that it said; where it only called a tool, the call
	At      time.Time // when its newest entry was written
}

// Speakers reads what was said last.
type Speakers interface {
	// Words reads them for the agents that are named, dead or not; unknown ones are left
	// out. What stands before the last clear does not count.
	Words(ctx context.Context, of ...id.Agent) (map[id.Agent]Words, error)
}

// mostWords limits how long such a line may be.
const mostWords = 400

// AskedWords returns the line of what a user's voice said.
func AskedWords(parts []history.Part) string {
	said := text.Line(history.Plain(parts), mostWords)
	for _, p := range parts {
		if said == "" && p.Blob != nil {
			said = fmt.Sprintf("(%d kB)", p.Size>>10)
		}
	}
	return said
}

// SaidWords returns the last line of what a model said, or, where it said nothing, its last call.
func SaidWords(parts []history.Part) string {
	var call string
	for i := len(parts) - 1; i >= 0; i-- {
		switch p := parts[i]; p.Type {
		case history.Text:
			if said := LastLine(p.Text); said != "" {
				return said
			}
		case history.ToolCall:
			if call == "" {
				call = text.Line(p.Name+" "+subjectOf(p.Args), mostWords)
			}
		}
	}
	return call
}

// subjectOf returns what a call is about: the first of the arguments that tools of every kind
// have for that.
func subjectOf(args []byte) string {
	var given map[string]any
	if json.Unmarshal(args, &given) != nil {
		return ""
	}
	for _, name := range []string{"command", "path", "pattern", "url", "query", "prompt", "to", "name"} {
		if s, ok := given[name].(string); ok {
			return s
		}
	}
	return ""
}

// LastLine returns the last line of a text that says something.
func LastLine(said string) string {
	for said = strings.TrimSpace(said); said != ""; {
		at := strings.LastIndexByte(said, '\n')
		last := strings.Trim(strings.TrimSpace(said[at+1:]), "`*_#>| ")
		last = strings.TrimSpace(strings.TrimPrefix(last, "- "))
		if last != "" {
			return text.Line(last, mostWords)
		}
		said = strings.TrimSpace(said[:max(at, 0)])
	}
	return ""
}

// Reply describes what was shown of a reply that is not in the history yet.
type Reply struct {
	Agent id.Agent
	Claim agent.Claim // the right to write; not stored
	After id.Message  // the agent's newest own entry, which the reply follows
	Text  string
}

// Replies keeps what a crash would lose of replies that are being streamed, one
// for each agent. What is kept ends by itself: a reply counts only as long as
// the agent lives and its newest own entry is the one that the reply follows.
type Replies interface {
	// KeepReplies keeps replies, all in one transaction; each takes the place
	// of its agent's former one. A reply that is over (its claim is no longer
	// good, or its agent has gone on from After, or is dead or unknown) is left
	// out without an error, and the others are kept.
	KeepReplies(ctx context.Context, replies []Reply) error
	// Reply reads what was kept of an agent's reply, if it still counts.
	Reply(ctx context.Context, a id.Agent) (Reply, bool, error)
}

// Allowance is one limit that binds an agent.
type Allowance struct {
	Of     agent.Agent // whose limit it is
	Budget agent.Budget
	Spent  agent.Spending // by Of and everything below it, the dead included
	Held   agent.Spending // by calls under way there, at worst (Hold); those of dead kernels too
}

// Left returns what may still be set aside: what neither is spent nor may be. false: no limit.
func (l Allowance) Left() (tokens, cost int64, tokensLimited, costLimited bool) {
	used := l.Spent.Plus(l.Held)
	tokens, tokensLimited = l.Budget.Tokens.Left(used.Tokens)
	cost, costLimited = l.Budget.Cost.Left(used.Cost)
	return tokens, cost, tokensLimited, costLimited
}

// Hold describes what a call of a model may come to at worst. It is set aside before the call is
// sent, and given back when what it came to is in the history.
type Hold struct {
	ID    string // drawn by the sender of the call
	Agent id.Agent
	Owner string // the kernel that sends it
	Worst agent.Spending
}

// Short is the error of a hold that does not fit.
type Short struct{ Allowance Allowance }

func (s Short) Error() string {
	return "the budget of agent " + s.Allowance.Of.Label() + " does not hold the call"
}

// Budgets knows what may be spent.
type Budgets interface {
	// Allowances lists the agent's own limits and those of its ancestors,
	// nearest first, through the dead. No limits: none, at the cost of a look
	// at the ancestors; each limit costs a look at all agents below it.
	// Unknown: NOT_FOUND.
	Allowances(ctx context.Context, a id.Agent) ([]Allowance, error)
	// Spent returns what the agent and everything below it, the dead included, spent so
	// far.
	Spent(ctx context.Context, a id.Agent) (agent.Spending, error)
	// Held returns what their calls may come to at worst that are under way, or of which it is unknown what they
	// came to.
	Held(ctx context.Context, a id.Agent) (agent.Spending, error)
	// Reserve sets a hold aside in every limit that binds its agent, or in none: then it is
	// Short, and says which limit it does not fit. No two holds are set aside in the same
	// rest, for every caller. Without limits it does nothing. The same hold again changes
	// nothing. A dead agent: DEAD_AGENT.
	Reserve(ctx context.Context, h Hold) error
	// Settle gives a hold back. What the call came to was written before, or nothing was
	// sent; a caller that does not know leaves the hold, which then counts as spent.
	Settle(ctx context.Context, hold string) error
	// Calls streams the usage entries of all histories, in order of id, since a
	// moment. Each call of a model is one entry of one history, so forks count
	// nothing twice. The entries have no content.
	Calls(ctx context.Context, since time.Time) iter.Seq2[history.Entry, error]
}

// The reasons to ring.
const (
	RingMail   = "mail"   // a letter came for the agent
	RingKilled = "killed" // the agent was killed
	RingForked = "forked" // another process wrote to the agent's history while a kernel held it (agent.Beside)
	RingStop   = "stop"   // another process wants the agent's turn to end
)

// Ring is a call to look at an agent. The zero Ring says: something may have
// happened to anybody, look yourself.
type Ring struct {
	Agent id.Agent
	What  string // RingMail, RingKilled, RingForked or RingStop
}

// Bell reports what other processes did to agents, so that no process has to poll. It
// only calls to look: what happened is in the store.
type Bell interface {
	// Listen calls ring for each letter and each end of an agent that becomes
	// durable, until ctx ends, and returns nil then. It rings Ring{} when it has
	// begun to listen: what happened before then is not told. After a lost
	// connection it connects again and rings Ring{}. An error is returned only if it could
	// not begin at all. ring is called by one goroutine at a time, must return
	// soon, and may be called for the caller's own doings.
	//
	// On SQLite no other process can ring, so that nothing can be missed
	// before it listens: nothing comes.
	Listen(ctx context.Context, ring func(Ring)) error
	// Call rings for those who listen. false: no other process can hear it.
	Call(ctx context.Context, r Ring) (bool, error)
}
