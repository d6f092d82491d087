package tui

import (
	"context"
	"iter"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/kit"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// Workspace is a workspace and its kernel, as the screens use them. All methods are safe
// for concurrent use. Those that take a context may take their time, and are not
// called by the goroutine that draws; the others answer at once.
type Workspace interface {
	Histories
	Kernel
	Models
	// Shell runs a command of the user's in the folder of an agent, and passes on what it prints.
	Shell(ctx context.Context, a id.Agent, line string, output func(string)) error
	// Clipboard keeps the image on the clipboard in a file, and returns its path.
	Clipboard(ctx context.Context) (string, error)
	// Questions are about calls that no rule permits.
	Questions(ctx context.Context) <-chan Question
	// Close disconnects. Turns continue.
	Close()
}

// Archive is what is read.
type Histories interface {
	// Agents is everybody who lives, in the order of creation, and the dead.
	Agents(ctx context.Context) (Agents, error)
	// Overview is everybody with what Home tells of them besides.
	Overview(ctx context.Context) (public.HomeFacts, error)
	// Changed is what an agent changed, as a patch: in its worktree, or since its last turn began.
	Changed(ctx context.Context, a id.Agent) (string, error)
	// Page reads a stretch of the conversation of an agent, inherited entries
	// included, back to its last clear. Unknown: NOT_FOUND.
	Page(ctx context.Context, a id.Agent, s Span) (Page, error)
	// Timeline reads the entries that shape the lineage of an agent: forks, marks,
	// rewinds, clears, compactions, and the user's messages; newest last.
	Timeline(ctx context.Context, a id.Agent) ([]Point, error)
	// Mode is how the calls of an agent are permitted.
	Mode(ctx context.Context, a id.Agent) (permit.Mode, error)
	// Program is what the program that drives an agent offers; nil: none drives it.
	Program(ctx context.Context, a agent.Agent) (*public.Program, error)
	// Events begins to listen at once. They end when ctx does.
	Events(ctx context.Context) iter.Seq[loop.Event]
}

// Floor is where work is done.
type Kernel interface {
	// Turn runs one turn of an agent and returns when it is over. A prompt without a
	// text goes on with what is there. said is whether the text got into the history: if
	// not, nobody has it but the caller. By its ticket it can be taken back before.
	Turn(ctx context.Context, a id.Agent, text string, model llm.Ref, ticket string) (said bool, err error)
	// Stop ends the turn of an agent, wherever it runs, takes the prompts of these tickets
	// back if they were not said yet, and returns when that is so. false: there was nothing.
	Stop(ctx context.Context, a id.Agent, tickets ...string) (bool, error)
	// Call carries out an operation (operation.Client).
	Call(ctx context.Context, o operation.Operation, in any) (any, error)
	// Print carries out an operation and returns what is shown of its output.
	Print(ctx context.Context, o operation.Operation, in any) (string, error)
	// Defined are the commands that the user and the project define: prompts by name, which
	// Turn puts in their places.
	Defined() []kit.Command
	// ProgramCommands are those of the program that drives an agent.
	ProgramCommands(a agent.Agent) []kit.Command
	// Command carries out a command line of ramet and returns what it prints.
	Command(ctx context.Context, args ...string) (string, error)
}

// Models is what can be chosen.
type Models interface {
	// Model is the model that a turn of the agent would use, and why that one.
	Model(a agent.Agent, asked llm.Ref) (Model, error)
	// Usable lists what can be asked.
	Usable() []Model
	// Found lists the models of servers that answer on this machine although nobody named
	// them: they are offered, and not used before they are chosen.
	Found(ctx context.Context) []Model
	// Key stores the key of a vendor, unless that refuses it, and uses it from now on.
	Key(ctx context.Context, vendor, key string) (string, error)
	// CompletePaths lists paths below the folder of an agent that may fit a beginning.
	CompletePaths(ctx context.Context, a id.Agent, fragment string) []string
}

type (
	Model  = session.Model     // a model as it is shown
	Agents = session.AgentList // everybody at one moment
	Span   = session.Span      // what is asked for of a conversation
	Page   = session.Page      // a stretch of it
	Entry  = session.Entry     // an entry, read
	Point  = session.Point     // a place in a lineage
)

// Question is a question about a call, and where the answer goes. It is answered
// once; Over is closed when nobody waits for the answer any more.
type Question struct {
	permit.Question
	Answer func(permit.Verdict)
	Over   <-chan struct{}
}
