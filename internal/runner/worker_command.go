package runner

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// command lets a command do an item.
func (c *WorkerPool) command(ctx context.Context, it Attempt, d Orchestrator) (Result, error) {
	if it.Task.External && !c.External {
		return Result{}, fault.New(fault.Denied, "this host does nothing outside of runs, as %s would", it.Worker).
			WithHint("start it with `ramet worker --external` if everyone who can write the database may run commands on it")
	}
	p, err := c.makeWorkdir(ctx, it, d, true)
	if err != nil {
		return Result{}, err
	}
	defer p.remove()
	if err := p.supply(ctx, it, d); err != nil {
		return Result{}, err
	}
	if err := sandbox.Available(); err != nil && !it.Task.External {
		return Result{}, fault.New(fault.Denied, "there is no sandbox to run the command of %s in: %w", it.Worker, err).
			WithHint("run it on a host that has one")
	}
	return c.runAsAgent(ctx, it, d, p.work, func(ctx context.Context, own id.Agent) (Result, error) {
		p.agent = own
		if it.Task.External {
			return c.external(ctx, it, p)
		}
		return c.confined(ctx, it, p)
	})
}

// confined runs a command in the sandbox.
func (c *WorkerPool) confined(ctx context.Context, it Attempt, p *workdir) (Result, error) {
	out, err := c.sh(ctx, it, p, it.Task.Command)
	if err != nil {
		return Result{}, err
	}
	if err := out.failed(it.Worker); err != nil {
		return Result{}, err
	}
	return c.delivered(ctx, it, p, out)
}

func (c *WorkerPool) delivered(ctx context.Context, it Attempt, p *workdir, out *ran) (Result, error) {
	res, err := p.collect(ctx, it, out.printed)
	if err == nil {
		err = c.inspect(it, res)
	}
	return res, err
}

// lookTime limits the lookup of the outcome of a command that was stopped.
const lookTime = time.Minute

// external runs a command that acts outside the run, unless that has happened.
func (c *WorkerPool) external(ctx context.Context, it Attempt, p *workdir) (Result, error) {
	if it.Task.Lookup != "" {
		out, happened, err := c.lookup(ctx, it, p)
		if err != nil {
			return Result{}, err
		}
		if happened {
			return c.found(ctx, it, p, out)
		}
	}
	out, err := c.sh(ctx, it, p, it.Task.Command)
	if err != nil {
		return Result{}, err // nothing was run
	}
	if !out.stopped {
		if err := out.failed(it.Worker); err != nil {
			return Result{}, Final(err)
		}
		return c.found(ctx, it, p, out)
	}
	why := out.failed(it.Worker)
	if ctx.Err() != nil {
		why = contextFault(ctx)
	}
	if it.Task.Lookup == "" {
		return Result{}, unknownOutcome(it, why)
	}
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	seen, happened, err := c.lookup(looking, it, p)
	switch {
	case err != nil:
		return Result{}, unknownOutcome(it, why)
	case happened:
		return c.found(looking, it, p, seen)
	}
	return Result{}, why // it did not happen: it may be tried again
}

// found returns the result of an effect that has happened: what the command or its lookup printed is its output.
func (c *WorkerPool) found(ctx context.Context, it Attempt, p *workdir, out *ran) (Result, error) {
	res, err := c.delivered(ctx, it, p, out)
	return res, Final(err)
}

// lookup asks whether the effect has happened.
func (c *WorkerPool) lookup(ctx context.Context, it Attempt, p *workdir) (out *ran, happened bool, err error) {
	if out, err = c.sh(ctx, it, p, it.Task.Lookup); err != nil {
		return nil, false, unknownOutcome(it, err)
	}
	switch {
	case ctx.Err() != nil:
		return nil, false, contextFault(ctx)
	case out.stopped || out.code > 1:
		return nil, false, unknownOutcome(it, out.failed("the lookup of "+it.Worker))
	}
	return out, out.code == 0, nil
}

func unknownOutcome(it Attempt, why error) error {
	return fault.New(fault.UnknownOutcome, "whether %s %s (key %s) has happened is not known: %w", it.Worker, it.Scope, it.Task.Key, why).
		WithHint("look at it, then decide with --redo")
}

// ran is a command that has ended.
type ran struct {
	printed []byte
	much    bool // it printed more than is kept
	words   string
	code    int
	stopped bool // something ended it: us, a signal, or something unknown
	how     string
}

// failed is the fault of a command that did not end well.
func (r *ran) failed(who string) error {
	words := ""
	if r.words != "" {
		words = ": " + r.words
	}
	switch {
	case r.stopped:
		return fault.New(fault.Failed, "the command of %s %s%s", who, r.how, words)
	case r.code != 0:
		return fault.New(fault.Failed, "the command of %s ended with exit code %d%s", who, r.code, words)
	case r.much:
		return fault.New(fault.OutputInvalid, "the command of %s printed more than %d MiB", who, maxPrinted>>20)
	}
	return nil
}

const (
	maxPrinted = 8 << 20 // of what a command prints
	maxWords   = 4 << 10 // of what it complains, from the end
)

// split lets the command's complaints go to a file: what it prints is its output.
const split = `exec sh -c "$1" 2>"$2"`

// sh runs a command line. With an error nothing was run.
func (c *WorkerPool) sh(ctx context.Context, it Attempt, p *workdir, line string) (*ran, error) {
	env, err := commandEnvironment("worker "+it.Worker, c.Env, it.Task.With,
		map[string]string{"RAMET_KEY": it.Task.Key, "RAMET_SCOPE": it.Scope, "RAMET_INPUTS": p.inputs()})
	if err != nil {
		return nil, err
	}
	aside, err := os.MkdirTemp(p.dir, "aside-")
	if err != nil {
		return nil, durable.Failure("make folder", p.dir, err)
	}
	// It stays open: what the command puts in its place, such as a link to what is hidden, is not read.
	complaints, err := os.Create(filepath.Join(aside, "stderr"))
	if err != nil {
		return nil, durable.Failure("make", aside, err)
	}
	defer complaints.Close()
	kept := &text.EndsBuffer{Head: maxPrinted}
	cmd := sandbox.Command{Args: []string{"sh", "-c", split, "sh", line, complaints.Name()}, Dir: p.work, Env: env, Output: kept}
	// A project's command speaks for its own agent, not for the person.
	if mark, ok := p.agent.Bytes(); ok {
		cmd.For = (*sandbox.Mark)(&mark)
	}
	if !it.Task.External {
		cmd.Confine = &sandbox.Box{Write: []string{p.work, aside}, Keep: []string{filepath.Join(p.work, ".git")}, Hide: c.Hide, Show: append(c.Shown(), p.inputs()),
			Guard: c.Quarantine, Guarded: []string{p.work}}
	}
	if ctx.Err() != nil {
		return nil, contextFault(ctx)
	}
	// Started under ctx, it could have begun and be refused all the same.
	process, err := launch.Start(context.WithoutCancel(ctx), launch.Program{Purpose: launch.RunCommand, Command: cmd})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, process.Kill)
	defer stop()
	result, err := process.Wait()
	printed, _, missing := kept.Kept()
	out := &ran{printed: printed, much: missing > 0, code: result.ExitCode, words: strings.TrimSpace(readTail(complaints) + "\n" + text.Safe(result.Notes))}
	switch {
	case result.Killed:
		out.stopped, out.how = true, "was stopped"
	case err != nil:
		out.stopped, out.how = true, "broke: "+text.Line(err.Error(), 200)
	case result.Signal != 0:
		out.stopped, out.how = true, fmt.Sprintf("was ended by signal %d", int(result.Signal))
	}
	if ctx.Err() != nil && !it.Task.External {
		return nil, contextFault(ctx)
	}
	return out, nil
}

var variable = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// commandEnvironment returns the variables of base, those of with over them, and more over both, sorted by name.
// owner is the worker or gate whose values with has.
func commandEnvironment(owner string, base []string, with, more map[string]string) ([]string, error) {
	all := map[string]string{}
	for _, pair := range base {
		if name, value, ok := strings.Cut(pair, "="); ok {
			all[name] = value
		}
	}
	for name := range with {
		if !variable().MatchString(name) {
			return nil, fault.New(fault.InvalidRecipe, "%s: %.80q is not a name of a variable", owner, name).WithHint("use letters, digits and _")
		}
	}
	maps.Copy(all, with)
	maps.Copy(all, more)
	out := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out, nil
}

// readTail returns the end of a file, for people.
func readTail(f *os.File) string {
	if info, err := f.Stat(); err == nil && info.Size() > maxWords {
		f.Seek(-maxWords, io.SeekEnd)
	}
	b, _ := io.ReadAll(io.LimitReader(f, maxWords))
	return strings.TrimSpace(text.Safe(strings.ToValidUTF8(string(b), "\uFFFD")))
}
