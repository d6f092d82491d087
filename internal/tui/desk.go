package tui

import (
	"context"
	"iter"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/permit"
)

// Desk is a workspace and its kernel, as the screens use them. All methods are safe
// for concurrent use. Those that take a context may take their time, and are not
// called by the goroutine that draws; the others answer at once.
type Desk interface {
	Archive
	Floor
	Models
	// Close ends the turns that run here and gives everything back.
	Close()
}

// Archive is what is read.
type Archive interface {
	// Agents is everybody who lives, in the order of creation, and the dead.
	Agents(ctx context.Context) (Crowd, error)
	// Page reads a stretch of the conversation of an agent, inherited entries
	// included, back to its last clear. Unknown: NOT_FOUND.
	Page(ctx context.Context, a id.Agent, s Span) (Page, error)
	// Timeline reads the entries that shape the lineage of an agent: forks, marks,
	// rewinds, clears, compactions, and the user's messages; newest last.
	Timeline(ctx context.Context, a id.Agent) ([]Point, error)
	// Events begins to listen at once. They end when ctx does.
	Events(ctx context.Context) iter.Seq[loop.Event]
	// Questions are about calls that no rule permits.
	Questions(ctx context.Context) <-chan Question
}

// Floor is where work is done.
type Floor interface {
	// Turn runs one turn of an agent and returns when it is over. A prompt without a
	// text goes on with what is there.
	Turn(ctx context.Context, a id.Agent, text string, model llm.Ref) error
	// Stop ends the turn of an agent, and returns when it is over.
	Stop(ctx context.Context, a id.Agent) error
	// Fork makes a child; it waits for the tools of its parent, until ctx ends.
	Fork(ctx context.Context, f Fork) (agent.Agent, error)
	// Compact replaces the older part of a context by a summary.
	Compact(ctx context.Context, a id.Agent, model llm.Ref) error
	// Hide takes a letter out of a mailbox.
	Hide(ctx context.Context, a id.Agent, number int64) error
	// Command carries out a command line of ramet and returns what it prints.
	Command(ctx context.Context, args ...string) (string, error)
	// Shell runs a command of the user's in the folder of an agent; output takes what
	// it prints as it comes.
	Shell(ctx context.Context, a id.Agent, line string, output func(string)) error
}

// Models is what can be chosen.
type Models interface {
	// Model is the model that a turn of the agent would use, and why that one.
	Model(a agent.Agent, asked llm.Ref) (Model, error)
	// Usable lists what can be asked.
	Usable() []Model
	// Files lists paths below the folder of an agent that may fit a beginning.
	Files(ctx context.Context, a id.Agent, fragment string) []string
}

// Model is a model as it is shown.
type Model struct {
	Ref     llm.Ref
	Title   string
	Context int64  // tokens; 0: nobody knows
	Why     string // why it is the one in use
	BuiltIn bool
}

// Crowd is everybody at one moment.
type Crowd struct {
	Agents []agent.Agent // the living and the dead, in the order of creation
	// Doing is what agents do that a kernel holds: a word or two.
	Doing map[id.Agent]string
	// Interrupted are those that a crash ended in the middle of a turn.
	Interrupted map[id.Agent]bool
}

// Span asks for a page: the newest entries older than Before (0: the newest of all),
// or, if After is set, all that are newer than that.
type Span struct {
	Before, After id.Message
	Limit         int
}

// Page is a stretch of a conversation, oldest first.
type Page struct {
	Entries []Entry
	More    bool       // there are older ones
	Head    id.Message // the agent's newest entry then; not with Before
}

// Entry is one entry, read.
type Entry struct {
	history.Entry
	Parts []history.Part
	About history.Meta
	Gone  bool // not in the context: rewound, or replaced by a summary
}

// Point is a place in a lineage.
type Point struct {
	Agent id.Agent
	Label string // of that agent
	ID    id.Message
	Kind  history.Kind
	Text  string // one line
	Gone  bool
	Head  bool // the newest entry of the agent that was asked for
}

// Fork asks for a child.
type Fork struct {
	Parent   id.Agent
	Name     string
	Prompt   string // what it begins with; empty: nothing
	At       id.Message
	Worktree bool
	Model    llm.Ref
}

// Question is a question about a call, and where the answer goes. It is answered
// once; Over is closed when nobody waits for the answer any more.
type Question struct {
	permit.Question
	Answer func(permit.Verdict)
	Over   <-chan struct{}
}
