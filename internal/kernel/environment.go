package kernel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
	"ramet/internal/launch"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// Environment is the part of a client's environment that the turns which it asks for use: the variables
// of commands, and those that say how vendors are reached. It is kept in memory only.
type Environment struct {
	Variables []string // NAME=value
	Umask     string   // in octal, for commands and the files that tools make; empty: that of the kernel's process
}

// ModelVariable names the model of a client's turns, where an agent has none of its own.
const ModelVariable = "RAMET_MODEL"

// Get returns the value of a variable; empty if it is not set.
func (e *Environment) Get(name string) string {
	for _, pair := range e.Variables {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// environments remembers which client's environment an agent works with.
type environments struct {
	mu      sync.Mutex
	of      map[id.Agent]*Environment
	changed chan struct{} // closed when one is lent; nil: no turn waits for that
}

// lent returns a channel that is closed when a client lends an environment.
func (e *environments) lent() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return e.changed
}

// tell notifies the turns that wait for a key.
func (e *environments) tell() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// WithUmask returns a context in which git makes files with the umask of the environment; e may be nil.
func (e *Environment) WithUmask(ctx context.Context) context.Context {
	if e == nil {
		return ctx
	}
	return launch.WithUmask(ctx, e.Umask)
}

// Lend lets the turns of an agent, and of those forked below it from now on, use a client's environment; nil changes nothing.
func (k *Kernel) Lend(a id.Agent, e *Environment) {
	k.lend(a, e)
	k.environments.tell()
}

func (k *Kernel) lend(a id.Agent, e *Environment) {
	if e == nil {
		return
	}
	k.environments.mu.Lock()
	defer k.environments.mu.Unlock()
	if k.environments.of == nil {
		k.environments.of = map[id.Agent]*Environment{}
	}
	for _, known := range k.environments.of { // most clients of a workspace have the same
		if slices.Equal(known.Variables, e.Variables) && known.Umask == e.Umask {
			k.environments.of[a] = known
			return
		}
	}
	k.environments.of[a] = e
	if k.Lent != nil {
		k.Lent(e)
	}
}

// EnvironmentOf returns the environment that an agent works with: that of the client which asked for its
// turn, else its parent's. nil: no client lent one, so it has that of the kernel's own process.
func (k *Kernel) EnvironmentOf(ctx context.Context, a agent.Agent) *Environment {
	for {
		k.environments.mu.Lock()
		found, none := k.environments.of[a.ID], len(k.environments.of) == 0
		k.environments.mu.Unlock()
		if found != nil || none || a.Parent == "" {
			return found
		}
		parent, err := k.Store.Agent(ctx, a.Parent)
		if err != nil {
			return nil
		}
		a = parent
	}
}

// Terms are the options of a command that hold for the turn of its prompt and for what the agents below do because of
// that turn, until they are withdrawn.
type Terms struct {
	Cwd        string // where tools work instead of in the agents' own folders; empty: there
	NoTools    bool   // without the tools that touch this machine
	Allow      []permit.Rule
	Unattended bool // no person reads what the command prints, so none answers there

	withdrawn atomic.Bool
}

// Withdraw ends the terms, because their command ends.
func (t *Terms) Withdraw() { t.withdrawn.Store(true) }

type termsKey struct{}

// WithTerms returns a context for what a command with terms does before its turn begins.
func WithTerms(ctx context.Context, t *Terms) context.Context {
	return context.WithValue(ctx, termsKey{}, t)
}

// TermsOf returns the terms under which an agent works now. They are the zero Terms if its turn has none, or if it is
// outside the subtree of the agent that they were given to, as a parent is that reads a report.
func (k *Kernel) TermsOf(ctx context.Context, a id.Agent) *Terms {
	if given, _ := ctx.Value(termsKey{}).(*Terms); given != nil {
		return given
	}
	var to id.Agent
	var t *Terms
	k.mu.Lock()
	if p := k.live[a]; p != nil && p.family != nil {
		to, t = p.family.of, p.family.terms
	}
	k.mu.Unlock()
	if t == nil || t.withdrawn.Load() {
		return &Terms{}
	}
	for a != to {
		row, err := k.Store.Agent(ctx, a)
		if err != nil || row.Parent == "" {
			return &Terms{}
		}
		a = row.Parent
	}
	return t
}

// A turn that no client asks for has only the environment that a client lent before. If the key of its model
// is in none, it waits: a client that lends the key lets it begin, and so does a key that is stored.

// missingKey returns the key without which a woken turn cannot begin, and the error that says so. It is nil if the turn
// can begin, and if it fails for another reason.
func (k *Kernel) missingKey(a agent.Agent, j *job) (*llm.MissingKey, error) {
	asked := j.prompt.Model
	if k.LastModel != nil && asked == (llm.Ref{}) {
		asked = k.LastModel(a)
	}
	_, err := k.Model(a, asked)
	var missing *llm.MissingKey
	if errors.As(err, &missing) {
		return missing, err
	}
	j.prompt.Model = asked
	return nil, nil
}

// awaitKey waits while the key of a woken turn is missing, and reports whether it did. Then the job is ahead again,
// after a job of a client that came meanwhile, or it is over.
func (p *agentProcess) awaitKey(j *job) bool {
	k := p.kernel
	a, err := k.Store.Agent(k.ctx, p.id)
	if !k.Resident || err != nil {
		return false
	}
	if missing, _ := k.missingKey(a, j); missing == nil || !p.hasCallers(j) {
		return false
	}
	ctx, stop := context.WithCancelCause(j.ctx)
	defer stop(nil)
	ended := make(chan struct{})
	defer close(ended)
	k.mu.Lock()
	p.stop, p.ended, p.family = stop, ended, j.family
	k.mu.Unlock()
	next, err := p.keyCame(ctx, a, j)
	k.mu.Lock()
	p.stop, p.ended, p.family, p.doing = nil, nil, nil, doing{shown: p.doing.shown}
	if err != nil {
		p.called, p.awaited = false, false
	}
	k.mu.Unlock()
	if err != nil {
		p.over(j, loop.Outcome{}, stopped(ctx, err))
		p.settled(k.ctx)
	}
	p.ahead = append(next, p.ahead...)
	return true
}

// keyCame returns the jobs to be done when the key is there, or when a client asked for something.
func (p *agentProcess) keyCame(ctx context.Context, a agent.Agent, j *job) ([]*job, error) {
	k := p.kernel
	again := time.NewTicker(k.Pulse)
	defer again.Stop()
	for {
		lent := k.environments.lent()
		missing, err := k.missingKey(a, j)
		next := p.received()
		if next == nil && missing == nil {
			return []*job{j}, nil
		}
		if next == nil {
			p.becomes(func(d *doing) { d.now = state.State{Word: state.NeedsKey, Detail: missing.Variable} })
			select {
			case next = <-p.inbox:
				missing, err = k.missingKey(a, j)
			case <-lent:
				continue
			case <-again.C: // a key may have been stored
				continue
			case <-p.killed:
				return nil, errKilled()
			case <-ctx.Done():
				return nil, llm.Ended(ctx)
			}
		}
		switch {
		case !next.resumes():
			return []*job{next, j}, nil
		case missing == nil:
			p.answerBy(j, next)
			return []*job{next}, nil
		case k.take(next, nothing):
			p.over(next, loop.Outcome{}, err)
		}
	}
}

// resumes reports whether a job continues what is there, and says nothing new.
func (j *job) resumes() bool {
	return j.prompt.Text == "" && len(j.prompt.Files) == 0 && j.only == nil && !j.woken && !j.prompt.Fresh
}

// answerBy lets a job that resumes the agent take the place of one that was woken.
func (p *agentProcess) answerBy(j, next *job) {
	next.woken, next.reported, next.looks, next.task = true, j.reported, j.looks, next.task || j.task
	next.prompt.Model = j.prompt.Model
	if next.reply == "" {
		next.reply = j.reply
	}
	j.finish(p.kernel, loop.Outcome{}, nil)
}

// hasCallers reports whether a letter waits for which a woken job begins a turn.
func (p *agentProcess) hasCallers(j *job) bool {
	p.kernel.mu.Lock()
	reported := j.reported || p.asked.came
	p.kernel.mu.Unlock()
	letters, err := p.callers(p.kernel.ctx, &job{reported: reported})
	return err == nil && len(letters) > 0
}
