// Package local is the tools that work on the machine: bash, read, write, edit, glob,
// grep and list, all in one folder, the agent's root.
//
// It promises:
//
//   - The file tools touch nothing outside the root and the agent's own /tmp (Options.Temp), whatever a path says and
//     whatever is swapped while they work: folders are opened one by one, and each
//     must be the folder, not a link, that stood there a moment before. Links are
//     followed only to places inside the root, and by us.
//   - They touch nothing named .git, and write nothing named .ramet, at any depth, in
//     any spelling that a file system could take for it, also through links. They change
//     no part of a folder that git takes for a repository, and make no folder one.
//   - Only regular files are read or replaced. Pipes, devices and sockets are refused
//     without waiting.
//   - write replaces a file only if the conversation has seen it and it did not change
//     since; edit changes one that the conversation has seen, where it reads as the model
//     says, and keeps what else changed. A reader sees the old file or the new one.
//   - What earlier calls saw, and where commands run, is in the history (tool.Memory):
//     forks and later processes know the same.
//   - Commands see the environment that was given and no input. What they start dies
//     with them. Where they are not set free (tool.Confine) they run in the sandbox: writing
//     below the root only, but not its .ramet, and of .git only what runs nothing, and without network but for hosts
//     that Options.Network permits to those that are waited for; what they leave under names that other programs execute is judged (package sandbox). Where
//     there is no sandbox they are refused.
//   - Answers are bounded, whatever the size of files and output, and free of escape
//     codes. What is left out is said; it lies in a file (Options.Outputs) that read and grep find.
//   - The subject that permissions are held against is the file itself, links
//     resolved.
package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/launch/proxy"
	"ramet/internal/launch/sandbox"
	"ramet/internal/tools/fetch"
	"ramet/internal/turn/tool"
)

// Options configure the tools of one agent.
type Options struct {
	Root  string   // the agent's folder: absolute, a real path
	Env   []string // the complete environment of commands; see launch.EnvironmentFor
	Umask string   // in octal, of commands and of files that are made; empty: that of this process
	// Keep lists paths that confined commands may not write, besides .git and .ramet.
	Keep []string
	// Hide is ramet's home, database and configuration, and what the user hides: confined
	// commands may not read it, and file tools do not touch it where it lies in the root.
	Hide []string
	// Write are further folders that confined commands may write; those that do not
	// exist are left out.
	Write []string
	// Show are the files and folders that confined commands see also where they are below /tmp.
	Show []string
	// Temp is the folder that confined commands find at /tmp, and that file tools use for paths below it; made when
	// needed, and removed by the caller when the agent ends. Empty: each command has one of its own.
	// Without it, or where commands cannot be confined, file tools have no /tmp.
	Temp string
	// Cache is the folder in which confined commands keep compilers' caches; made when needed.
	// Empty: nowhere.
	Cache string
	// Quarantine is the folder to which files that a confined command leaves under a name that other programs
	// execute are moved; empty: they stay.
	Quarantine string
	// Overlay keeps what a confined command changes until it has ended; nil: it writes at once. Commands in the background do.
	Overlay *sandbox.Overlay
	Forbid  []string // files that neither a confined command nor a tool may make
	// Outputs is the folder of answers that are too long for a conversation: read and grep find
	// them there. Empty: what is too long is lost.
	Outputs string
	// Clean takes ramet's own secrets out of them; nil: there are none.
	Clean func(string) string
	// Replaces is called before a tool writes a file, with what the file holds (nil: there is none)
	// and what it will hold; may be nil.
	Replaces func(path string, old, content []byte)
	Limits   Limits
	// Jobs holds the commands that continue in the background; nil: there are none.
	Jobs *Jobs
	// Network decides which hosts confined commands reach that are waited for; nil: they have no network.
	Network Network
	Proxy   proxy.Options // for tests: the zero value uses the machine's network
	Fetch   fetch.Options // for tests: the zero value keeps what package fetch promises
	// Foreign names the source of the agent's files if others may have written them; empty, or nil: none have.
	Foreign func() string
	// For is the agent for which commands are started: they bear its mark.
	For    id.Agent
	Socket string // see sandbox.Command
}

// Limits bound the commands; what is zero has its default.
type Limits struct {
	Timeout    time.Duration // where the call does not say: 120 s
	MaxTimeout time.Duration // what a call can say: 600 s
	Head, Tail int           // bytes of output that are kept: 4 KiB each, and 16 where there are no Outputs
}

// Local is the tools of one agent, and what it has read. It is safe for concurrent
// use.
type Local struct {
	o   Options
	own []fs.FileInfo // what Options.Hide names

	writing sync.Mutex // held while a file is checked and replaced

	mu   sync.Mutex
	seen map[string][sha256.Size]byte // real path in the root: the content that was read
	dir  string                       // where the last command ended, in the root; empty: there
	jobs map[int]jobMemo              // commands in the background that the history tells of
}

// New makes the tools of an agent.
func New(o Options) (*Local, error) {
	real, err := filepath.EvalSymlinks(o.Root)
	if err != nil {
		return nil, fault.New(fault.NotFound, "open the agent's folder: %w", err).
			WithHint("make it, or start the agent in another folder with --cwd")
	}
	if real != filepath.Clean(o.Root) || !filepath.IsAbs(real) {
		return nil, fault.New(fault.Usage, "open the agent's folder: %s is not a real path", o.Root)
	}
	o.Root = real
	l := &o.Limits
	l.Timeout = orElse(l.Timeout, 120*time.Second)
	l.MaxTimeout = orElse(l.MaxTimeout, 600*time.Second)
	kept := 16 << 10
	if o.Outputs != "" {
		kept = longest / 2
	}
	l.Head = orElse(l.Head, kept)
	l.Tail = orElse(l.Tail, kept)
	made := &Local{o: o, seen: map[string][sha256.Size]byte{}, jobs: map[int]jobMemo{}}
	for _, path := range o.Hide {
		if info, err := os.Stat(path); err == nil {
			made.own = append(made.own, info)
		}
	}
	return made, nil
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Tools returns all of them, in the order in which models see them.
func (l *Local) Tools() tool.Box {
	box := tool.Box{l.bash(), l.read(), l.write(), l.edit(), l.glob(), l.grep(), l.list(), l.fetch()}
	if l.o.Jobs != nil {
		box = append(box, l.job())
	}
	return box
}

// one is a tool whose failures are answers.
type one struct {
	spec tool.Spec
	run  func(ctx context.Context, c tool.Call) (tool.Answer, error)
}

// Spec returns what is known of it.
func (t *one) Spec() tool.Spec { return t.spec }

// Run carries out a call.
func (t *one) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	if err := ctx.Err(); err != nil {
		return tool.Answer{}, err
	}
	a, err := t.run(ctx, c)
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case err != nil:
		return tool.Failed(err.Error()), nil
	}
	return a, nil
}

// parseArguments reads arguments whose shape was checked, or will be.
func parseArguments[T any](args json.RawMessage) (T, error) {
	var v T
	err := json.Unmarshal(args, &v)
	return v, err
}

// withArguments returns a tool's work that is given its arguments.
func withArguments[T any](do func(ctx context.Context, c tool.Call, args T) (tool.Answer, error)) func(context.Context, tool.Call) (tool.Answer, error) {
	return func(ctx context.Context, c tool.Call) (tool.Answer, error) {
		args, err := parseArguments[T](c.Args)
		if err != nil {
			return tool.Answer{}, err
		}
		return do(ctx, c, args)
	}
}

// summarise returns a summary of arguments.
func summarise[T any](say func(args T) string) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		args, _ := parseArguments[T](raw)
		return say(args)
	}
}

// saw remembers the content of a file.
func (l *Local) saw(path string, content []byte) { l.sawSum(path, sha256.Sum256(content)) }

func (l *Local) sawSum(path string, sum [sha256.Size]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[path] = sum
}

// sight returns the sum of the content that was read last.
func (l *Local) sight(path string) ([sha256.Size]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum, ok := l.seen[path]
	return sum, ok
}

// sentenceError makes an error that is a sentence for the model.
func sentenceError(format string, args ...any) error { return fmt.Errorf(format, args...) }

// What calls must look like, made once for all agents: thousands may be idle in one kernel, each with
// its own tools.
var (
	fetchShape = shape.Object(shape.Must("url", shape.Text(1)))
	globShape  = shape.Object(
		shape.Must("pattern", shape.Text(1)),
		shape.May("path", shape.Text(1)),
		shape.May("exclude", shape.Text(1)).Untold(),
	)
	grepShape = shape.Object(
		shape.Must("pattern", shape.Text(1)),
		shape.May("path", shape.Text(1)),
		shape.May("include", shape.Text(1)),
		shape.May("exclude", shape.Text(1)),
		shape.May("ignore_case", shape.Bool()),
		shape.May("context", shape.Number(0, mostContext)),
		shape.May("mode", shape.Enum("lines", "files", "count")),
		shape.May("multiline", shape.Bool()),
	)
	listShape = shape.Object(
		shape.May("path", shape.Text(1)),
	)
	readShape = shape.Object(
		shape.Must("path", shape.Text(1)),
		shape.May("offset", shape.Integer(1)),
		shape.May("limit", shape.Integer(1)),
	)
	writeShape = shape.Object(
		shape.Must("path", shape.Text(1)),
		shape.Must("content", shape.Text(0)),
	)
	editShape = shape.Object(
		shape.Must("path", shape.Text(1)),
		shape.May("old_string", shape.Text(1)),
		shape.May("new_string", shape.Text(0)),
		shape.May("replace_all", shape.Bool()),
		shape.May("edits", shape.List(shape.Object(
			shape.Must("old_string", shape.Text(1)), shape.Must("new_string", shape.Text(0)), shape.May("replace_all", shape.Bool()).Untold()))),
	)
)

// commands are the shapes of those tools that depend on options: how many seconds a call may wait at most,
// and whether commands may stay in the background.
type commands struct {
	most       float64
	background bool
}

type commandShapes struct{ bash, job *shape.Shape }

var known struct {
	sync.Mutex
	shapes map[commands]commandShapes
}

func (l *Local) commandShapes() commandShapes {
	of := commands{l.o.Limits.MaxTimeout.Seconds(), l.o.Jobs != nil}
	known.Lock()
	defer known.Unlock()
	s, ok := known.shapes[of]
	if !ok {
		if known.shapes == nil {
			known.shapes = map[commands]commandShapes{}
		}
		s = of.shapes()
		known.shapes[of] = s
	}
	return s
}

func (c commands) shapes() commandShapes {
	fields := []shape.Field{
		shape.Must("command", shape.Text(1)),
		shape.May("timeout", shape.Number(1, c.most)),
		shape.May("outside", shape.Text(1)),
	}
	if c.background {
		fields = append(fields, shape.May("background", shape.Bool().With("leave it running, for job")))
	}
	return commandShapes{shape.Object(fields...), shape.Object(
		shape.Must("id", shape.Integer(1)),
		shape.May("wait", shape.Number(0, c.most)),
		shape.May("until", shape.Text(1)),
		shape.May("stop", shape.Bool()),
	)}
}

// memo is kept in a result for later calls: of this process, of another, of a fork.
type memo struct {
	Dir string            `json:"dir,omitempty"` // where commands run from then on, in the root
	Saw map[string]string `json:"saw,omitempty"` // path in the root: the SHA-256 of the content that the model has seen
	Job *jobMemo          `json:"job,omitempty"` // a command in the background that was begun
}

// remembering is a tool that knows what earlier calls did.
type remembering struct {
	one
	l *Local
}

// Recall takes the memos of a conversation.
func (t *remembering) Recall(memos iter.Seq[json.RawMessage]) {
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	clear(t.l.seen)
	clear(t.l.jobs)
	t.l.dir = "."
	for text := range memos {
		m, err := parseArguments[memo](text)
		if err != nil {
			continue // another tool's
		}
		if m.Dir != "" {
			t.l.dir = m.Dir
		}
		if m.Job != nil {
			t.l.jobs[m.Job.Number] = *m.Job
		}
		for path, sum := range m.Saw {
			if b, err := hex.DecodeString(sum); err == nil && len(b) == sha256.Size {
				t.l.seen[path] = [sha256.Size]byte(b)
			}
		}
	}
}

// remember makes a tool of one that knows what earlier calls did.
func (l *Local) remember(run func(context.Context, tool.Call) (tool.Answer, error), spec tool.Spec) tool.Tool {
	return &remembering{one{run: run, spec: spec}, l}
}

// sawMemo returns the memo of what is known of a file now; empty: nothing.
func (l *Local) sawMemo(path string) string {
	sum, ok := l.sight(path)
	if !ok {
		return ""
	}
	text, err := json.Marshal(memo{Saw: map[string]string{path: hex.EncodeToString(sum[:])}})
	if err != nil {
		return ""
	}
	return string(text)
}
