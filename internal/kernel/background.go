package kernel

import (
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/state"
	"ramet/internal/turn/loop"
)

// abandon ends the commands that agents left running: whose turn was stopped, whose task is
// over, who are dead.
func (k *Kernel) abandon(agents ...id.Agent) {
	if k.Abandon == nil {
		return
	}
	for _, a := range agents {
		k.Abandon(a)
	}
}

// endsCommands reports whether the agent's background commands end with this turn: those of a task would have no owner,
// and stopping a turn stops what it started.
func (j *job) endsCommands(stopped bool) bool { return j.task || j.prompt.Last != nil || stopped }

// commands returns the background commands of an agent on one line.
func (k *Kernel) commands(a id.Agent) string {
	if k.Background == nil {
		return ""
	}
	return strings.Join(k.Background(a), "; ")
}

// CommandsChanged publishes that the background commands of an agent changed.
func (k *Kernel) CommandsChanged(a id.Agent) {
	k.Events.Publish(loop.Event{Type: loop.Became, Agent: a}) // whoever wants to know looks
}

// beside adds the commands in the background to what agents do.
func (k *Kernel) beside(all map[id.Agent]state.State) map[id.Agent]state.State {
	if k.Runners == nil {
		return all
	}
	for _, a := range k.Runners() {
		if line := k.commands(a); line != "" {
			now := all[a]
			now.Commands = line
			all[a] = now
		}
	}
	return all
}
