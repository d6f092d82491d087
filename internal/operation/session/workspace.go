// Package session carries out what a person asks: prompt, stop, fork, kill, send, append, mark, rewind, clear,
// compact, shell, answer. The command line, the terminal, HTTP and other faces parse a request and print the
// answer; what happens is decided here, once.
//
// A Session holds what a command needs: home, configuration, keys, trust, and the workspace that is meant. Each
// is found when it is first needed, and then kept. Open opens the workspace; its methods are the verbs.
//
//   - A verb is the same on every face: the same checks, the same options, the same words.
//   - It is carried out in the kernel of this process, in the one that serves the workspace, in the one that
//     holds the agent, or, where no kernel is involved, on the store alone. This package chooses.
//   - A verb that is refused has changed nothing. A fork that fails leaves no worktree behind, unless the child
//     lives after all: then it keeps its files.
//   - None of our credentials gets into the store (store.Cleaned).
//   - What a dead kernel left open in a history is closed before a verb writes there.
//
// # Slash commands
//
// The table of commands describes what a person types to an agent: `/fork --name ada "look at the tests"`. A line
// is parsed into a command or a USAGE fault that names the position, the nearest valid word and the usage. Only
// the form is checked. Words are separated by white space, and quoted as in a shell. A last argument that is text
// may also be unquoted: then it is the rest of the line. Options go before it.
//
// # Prompts
//
// The system prompt of every agent is assembled from the Markdown files of this package, according to its tools:
// the same bytes for all agents with the same tools, so that vendors can cache them, and no text about a tool that
// the agent does not have. A file of the same name in the user's folder replaces ours.
package session

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/driver"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/model/credential"
	"ramet/internal/operation/control"
	"ramet/internal/run/rundir"
	"ramet/internal/store"
	"ramet/internal/tools/mcp"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// Workspace is an open workspace, and what a person does there. Its methods are safe for
// concurrent use once a kernel was started, or none is.
type Workspace struct {
	Store   *store.Cleaned
	Peers   control.Folder // where the kernels of this machine are
	Place   config.WorkspaceLocation
	Home    string
	Config  *config.Config
	Keys    *credential.Store
	Secrets *secret.Redactor
	Book    ledger.Book // of tasks

	// Kernel is the one of this process; nil: there is none.
	Kernel *kernel.Kernel
	// Answers takes answers to the questions of Kernel; nil: no question can be answered from elsewhere.
	Answers Answerer
	// Command carries out command lines in this process; nil: nobody does. See Session.
	Command func(ctx context.Context, args ...string) (string, error)
	// CommandFor carries out command lines of agents in this process; nil: none are. See Session.
	CommandFor func(ctx context.Context, c AgentCommand) int

	user kit.UserInstructions

	credentials func() map[string]string // our own, as they are now

	hiding   sync.Mutex      // guards what follows
	hidden   map[string]bool // keys of clients
	settings *settings       // as they are now; nil: as they were

	system System

	servers sync.Mutex // guards what follows
	pools   []*mcp.Pool

	offering sync.Once
	offers   *driver.Offers

	prompts PromptFolder
	own     id.Agent // whose command this process is; empty: a person's

	start func(context.Context, Kernel) (*Running, error)
	stop  func()
	runs  func() (*rundir.Store, error)
	paths paths
	past  states
	dead  dead
	ends  state.Memory // how histories end, for the terminal
	words spoken
	Now   func() time.Time

	changes changes
	lent    lentServers

	forwards atomic.Int32 // ForwardQuestions that run
}

// Forwards reports whether an editor shows the questions of the workspace.
func (w *Workspace) Forwards() bool { return w.forwards.Load() > 0 }

// Kernel configures the kernel of this process.
type Kernel struct {
	Timeout time.Duration // of all that the kernel is for; 0: none
	Ask     permit.Asker  // nil: nobody can be asked
	Watched func() bool   // reports whether a client shows questions now; nil: one always does
	Warn    func(string)
	// Attended is set where a person at a terminal sees what the kernel does.
	Attended bool
}

// Running is a kernel, and how to end it.
type Running struct {
	*kernel.Kernel
	Close func()
}

// Stopped ends the kernel of this process, and returns when nothing of it runs.
func (w *Workspace) Stopped() {
	if w.stop != nil {
		w.stop()
	}
	w.Kernel, w.stop = nil, nil
}

func (w *Workspace) close() error {
	w.Stopped()
	w.closePools()
	return w.Store.Close()
}

// changed tells the faces of this process that agents may have changed: they look themselves.
func (w *Workspace) changed() {
	if w.Kernel != nil {
		w.Kernel.Events.Publish(loop.Event{Type: loop.Became})
	}
}

// owner is the name under which this process holds leases; empty: it holds none.
func (w *Workspace) owner() string {
	if w.Kernel == nil {
		return ""
	}
	return w.Kernel.Owner
}

// Find is the agent that a word names.
func (w *Workspace) Find(ctx context.Context, ref string) (agent.Agent, error) {
	return agent.Find(ctx, w.Store, ref)
}

// mended closes what a kernel that died left open in an agent's history, before anything
// else is written there: what it showed of a reply would be lost.
func (w *Workspace) mended(ctx context.Context, a agent.Agent) error {
	if a.Lease.Owner == "" || a.Status != agent.Running {
		return nil
	}
	_, err := w.takeOver(ctx, a.ID)
	return err
}

// takeOver takes agents from kernels that are gone, and reports whether there were any: those named, or any at all.
// Their histories are closed, and no verb has to wait until the leases of the dead run out.
func (w *Workspace) takeOver(ctx context.Context, named ...id.Agent) (bool, error) {
	leased, now, err := w.Store.Leased(ctx)
	gone := agent.OwnersGone(now, w.Peers.Gone)
	found := slices.ContainsFunc(leased, func(a agent.Agent) bool {
		return (len(named) == 0 || slices.Contains(named, a.ID)) && gone(a.Lease)
	})
	if err != nil || !found {
		return false, err
	}
	if w.Kernel != nil {
		return true, w.Kernel.Recover(ctx)
	}
	k, err := w.start(ctx, Kernel{}) // which recovers when it starts
	if err != nil {
		return false, err
	}
	k.Close()
	return true, nil
}

// retakes carries out a verb, again if a kernel that is gone held the agent: its agents are taken over first.
func (w *Workspace) retakes(ctx context.Context, a id.Agent, verb func() error) error {
	err := verb()
	if !fault.Is(err, fault.Leased) {
		return err
	}
	if took, terr := w.takeOver(ctx, a); terr != nil || !took {
		return err
	}
	return verb()
}

// insert writes an entry that may be written beside a process that holds the agent (agent.Beside), where no kernel runs
// here.
func (w *Workspace) insert(ctx context.Context, a id.Agent, write func(agent.Claim) error) error {
	err := write(agent.Passing())
	if !fault.Is(err, fault.Leased) {
		return err
	}
	if _, holds, lerr := agent.FindHolder(ctx, w.Store, a, w.Peers.Gone); lerr != nil || !holds {
		return err
	}
	if err = write(agent.Beside()); err == nil {
		w.Peers.Tell(ctx, "", registry.Ring{Agent: a, What: registry.RingForked})
	}
	return err
}

// The verbs of a workspace, by what they act on. Each type is a view of its workspace: it has no state of its own.
type (
	// Agents lists, forks and kills agents.
	Agents struct{ ws *Workspace }
	// Turns runs, stops and awaits turns.
	Turns struct{ ws *Workspace }
	// Models chooses models and efforts.
	Models struct {
		ws  *Workspace
		env *kernel.Environment // of the client that asks; nil: of this process
	}
	// Prompts expands what a user typed into what a model reads.
	Prompts struct{ ws *Workspace }
	// History reads and writes conversations.
	History struct{ ws *Workspace }
	// Mail sends and reads letters.
	Mail struct{ ws *Workspace }
	// Files compares, restores and merges the folders of agents.
	Files struct{ ws *Workspace }
	// Trees makes, finds and merges the git worktrees of agents.
	Trees struct{ ws *Workspace }
	// Care frees space and keeps the trash.
	Care struct{ ws *Workspace }
	// Programs knows the programs that drive agents.
	Programs struct{ ws *Workspace }
	// Servers knows the MCP servers.
	Servers struct{ ws *Workspace }
	// Project reads what the project's own files say: instructions, hooks, and what a person accepted of them.
	Project struct{ ws *Workspace }
)

// Agents returns the verbs on agents.
func (w *Workspace) Agents() Agents { return Agents{w} }

// Turns returns the verbs on turns.
func (w *Workspace) Turns() Turns { return Turns{w} }

// Models returns the verbs on models.
func (w *Workspace) Models() Models { return Models{ws: w} }

// For returns the verbs on models for a client of an environment.
func (w Models) For(e *kernel.Environment) Models { return Models{w.ws, e} }

// keys returns the keys of vendors that the client uses.
func (w Models) keys() *credential.Store {
	if w.env == nil {
		return w.ws.Keys
	}
	return w.ws.Keys.With(w.env.Get)
}

// Prompts returns the verbs on prompts.
func (w *Workspace) Prompts() Prompts { return Prompts{w} }

// History returns the verbs on conversations.
func (w *Workspace) History() History { return History{w} }

// Mail returns the verbs on letters.
func (w *Workspace) Mail() Mail { return Mail{w} }

// Files returns the verbs on folders of agents.
func (w *Workspace) Files() Files { return Files{w} }

// Trees returns the verbs on worktrees.
func (w *Workspace) Trees() Trees { return Trees{w} }

// Care returns the verbs that free space.
func (w *Workspace) Care() Care { return Care{w} }

// Programs returns the verbs on programs that drive agents.
func (w *Workspace) Programs() Programs { return Programs{w} }

// Servers returns the verbs on MCP servers.
func (w *Workspace) Servers() Servers { return Servers{w} }

// Project returns the verbs on the project's own files.
func (w *Workspace) Project() Project { return Project{w} }

// Held reports whether the workspace that is open belongs to this process, and its kernel runs for others too.
func (s *Session) Held() bool { return s.held }

// Opened returns the workspace; nil: it is not open.
func (s *Session) Opened() *Workspace { return s.open }

// Open opens the workspace once; Close closes it.
func (s *Session) Open(ctx context.Context) (*Workspace, error) {
	if s.open != nil {
		return s.open, nil
	}
	if s.Hold != nil {
		return s.openHeld(ctx)
	}
	w := &Workspace{Now: s.Now, system: s.System, Command: s.Command, CommandFor: s.CommandFor}
	var err error
	if w.Place, err = s.Place(); err != nil {
		return nil, err
	}
	if w.Home, err = s.HomeDir(); err != nil {
		return nil, err
	}
	if w.Config, err = s.Config(); err != nil {
		return nil, err
	}
	if w.Keys, err = s.Keys(); err != nil {
		return nil, err
	}
	if w.Secrets, err = s.Secrets(); err != nil {
		return nil, err
	}
	w.credentials = func() map[string]string { return s.credentials(w.Keys) }
	path, err := config.Path(s.Getenv)
	if err != nil {
		return nil, err
	}
	w.settings = &settings{path: path, conf: w.Config, stamp: s.stamp, load: s.Settings}
	w.user = kit.UserInstructions{Dir: filepath.Dir(path), Home: s.Getenv("HOME")}
	w.Peers = control.At(w.Home, w.Place.DB)
	w.Peers.Clean = w.Secrets.Own
	w.Book = book{ledger.FolderAt(filepath.Join(w.Place.Project, ".ramet"), ledger.FolderOptions{Now: s.Now, Repaired: s.Repaired, Project: w.Place.Project}), w.Place.Project}
	w.start = func(ctx context.Context, k Kernel) (*Running, error) { return s.Start(ctx, w, k) }
	fresh, err := s.fresh(w.Place)
	if err != nil {
		return nil, err
	}
	w.runs = func() (*rundir.Store, error) { return s.Runs("") }
	opened, err := s.System.Open(ctx, w.Place)
	if err != nil {
		return nil, err
	}
	if fresh && s.Made != nil {
		s.Made(w.Place.DB)
	}
	w.Store = store.Clean(opened, w.Secrets.Own)
	w.prompts = s.Prompts()
	w.own, _ = s.Own()
	s.open = w
	s.notify()
	s.finish(ctx, w)
	return w, nil
}

// notify passes on what a person should know about the database. The first person who opens the workspace gets it.
func (s *Session) notify() {
	if s.Notice == nil {
		return
	}
	if text := s.open.Store.TakeNotice(); text != "" {
		s.Notice(text)
	}
}

// openHeld opens a workspace that this process holds for all its sessions.
func (s *Session) openHeld(ctx context.Context) (*Workspace, error) {
	place, err := s.Place()
	if err != nil {
		return nil, err
	}
	fresh, err := s.fresh(place)
	if err != nil {
		return nil, err
	}
	s.open, err = s.Hold(ctx, s)
	if s.held = err == nil; fresh && s.held && s.Made != nil {
		s.Made(place.DB)
	}
	if s.held {
		s.notify()
	}
	return s.open, err
}

// finish finishes the restore of files that a process left when it was killed. A restore that fails here is tried
// again by the next verb that needs the files, which reports why.
func (s *Session) finish(ctx context.Context, w *Workspace) {
	if !w.Files().Past().Pending() {
		return
	}
	done, _ := w.Files().RecoverFiles(ctx)
	for _, d := range done {
		if s.Finished != nil {
			s.Finished(d)
		}
	}
}

// Close closes the workspace. What runs here ends.
func (s *Session) Close() error {
	if s.open == nil || s.held {
		return nil
	}
	return s.open.close()
}

// Within returns a session for another command line on the workspace that is open.
func (s *Session) Within() *Session {
	sub := *s
	return &sub
}

// Anew returns a session for another workspace of the same place, with a kernel and connections of its own.
func (s *Session) Anew() *Session {
	sub := *s
	sub.open, sub.held = nil, false
	return &sub
}

// In returns a session at another folder, of which nothing is read yet.
func (s *Session) In(dir string) *Session {
	sub := New(s.System, s.Choice)
	sub.Dir, sub.Repaired, sub.Made = dir, s.Repaired, s.Made
	return sub
}

// Start starts the kernel of this process.
func (w *Workspace) Start(ctx context.Context, k Kernel) error {
	if w.Kernel != nil {
		return fault.New(fault.Failed, "a kernel runs here already")
	}
	if w.own != "" {
		k.Ask = nil // an agent answers no question, whatever face it opens
	}
	r, err := w.start(ctx, k)
	if err != nil {
		return err
	}
	w.Kernel, w.stop = r.Kernel, r.Close
	if err := w.Agents().EndRuns(ctx); err != nil && k.Warn != nil {
		k.Warn("agents of runs that were interrupted are left: " + err.Error())
	}
	return nil
}
