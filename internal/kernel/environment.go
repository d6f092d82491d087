package kernel

import (
	"context"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/launch"
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
