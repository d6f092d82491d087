package control

import (
	"context"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/state"
)

// stateWait limits the wait for the states of another kernel: a face waits for them to draw.
const stateWait = 150 * time.Millisecond

// States asks the kernel of that name what its agents do; not ok: it is not of this
// machine, or does not answer at once.
func (p Folder) States(ctx context.Context, owner string) (map[id.Agent]state.State, bool) {
	ctx, cancel := context.WithTimeout(ctx, stateWait)
	defer cancel()
	out, err := p.askStates(ctx, owner)
	return out, err == nil
}

// AskStates returns what the agents of another kernel do, and waits for it longer than States. LEASED: the kernel does not
// answer.
func (p Folder) AskStates(ctx context.Context, owner string) (map[id.Agent]state.State, error) {
	if err := p.Answers(ctx, owner); err != nil {
		return nil, err
	}
	return p.askStates(ctx, owner)
}

func (p Folder) askStates(ctx context.Context, owner string) (map[id.Agent]state.State, error) {
	c, err := p.reachOwner(owner)
	if err != nil {
		return nil, err
	}
	return ask[map[id.Agent]state.State](ctx, c, "/states", struct{}{})
}

// Kernels returns the names of the kernels that live on this machine.
func (p Folder) Kernels() []string {
	instances, err := p.instances()
	if err != nil {
		return nil // the holders of agents are asked all the same
	}
	out := make([]string, len(instances))
	for i, one := range instances {
		out[i] = p.owner(one)
	}
	return out
}
