package runner

import (
	"context"
	"iter"
	"time"

	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// Options configures a run.
type Options struct {
	RunID  string
	Recipe *recipe.Recipe
	Params map[string]string // bound, see recipe.Bind
	Agent  string            // the run's own agent
	Model  string            // of workers without a model of their own; empty: the configured one
	// Window returns the context window of a model in tokens; 0: unknown. nil: of no model.
	Window  func(model string) int64
	NoCache bool // every model is asked anew
	Log     Log
	Folder  Folder
	Site    Site
	// Near takes what must be done on this machine, Far everything else; without Far all
	// is near.
	Near, Far Queue
	Gates     Inspector
	// Form reports whether an output has the form of that name.
	Form func(schema string, data []byte) error
	// Acting returns the first of some paths that other programs would execute or obey unasked
	// in the run's folder, or nothing. exists reports what already exists.
	Acting func(paths []string, exists func(path string) bool) string
	// Hosts returns for every known host whether it is alive: it was seen within a
	// lease. Nil: there are no others. It is asked every Look; 0: every Lease/6. Forget takes
	// a dead one off that list, unless it was seen again.
	Hosts  func(ctx context.Context) (map[string]bool, error)
	Forget func(ctx context.Context, host string) error
	Here   []string // names of hosts that are this process
	Lease  time.Duration
	Look   time.Duration
	// Ended returns why the run has to stop because its own agent is dead: a *Cancelled if that was meant to cancel it.
	// nil: the agent lives. It is asked when a worker was killed; may be nil.
	Ended func(ctx context.Context) error
	// Watch is called with every event after it is durable, in order. It must not block.
	Watch func(Record)
	Now   func() time.Time
}

// Log is the log of the run as its one writer sees it. It is used by one goroutine at
// a time.
type Log interface {
	// Append writes events, all or none, and returns when they are durable. What the
	// state does not allow is refused and leaves the log as it was.
	Append(ctx context.Context, records ...Record) error
	// Now is a copy of what all events amount to.
	Now() run.Snapshot
	// Events reads the log from its beginning.
	Events(ctx context.Context) iter.Seq2[run.Entry, error]
}

// Record is an event to be written.
type Record struct {
	Type    run.Type
	Payload []byte
	Span    string // empty: a new one
	Parent  string
}

// Folder is the run's folder. Paths are relative to it, with slashes, and never lead out
// of it.
type Folder interface {
	Read(path string) ([]byte, error)
	// Hash of a file as it is now; ok is false if it is not there.
	Hash(path string) (sha256 string, ok bool)
	// Below lists all files below a folder, sorted; none if there is no such folder.
	Below(path string) ([]string, error)
	// Remove takes a file away; one that is not there is nothing.
	Remove(path string) error
	// Stage makes content durable under another name; Commit gives it its name.
	Stage(path string, data []byte) (Staged, error)
}

// Staged is a file that waits for its name.
type Staged interface {
	Commit() error
	Discard()
}
