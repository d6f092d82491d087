package kernel

import (
	"context"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// again makes a job go on with what another process did not finish, as if it were that one's:
// a task is a task still, its parent waits for the report or is woken by it, and letters that
// began turns are counted on. All of it stands in the histories.
func (k *Kernel) again(ctx context.Context, a id.Agent, j *job) error {
	j.family = &counter{attended: k.attended(j.by), of: a, terms: j.prompt.Terms, before: func(of id.Agent) int {
		n, err := k.woken(k.ctx, of)
		if err != nil {
			k.trouble(k.ctx, "count the wakes of "+of.Short(), err)
		}
		return n
	}}
	if j.task {
		return nil
	}
	then, err := k.then(ctx, a)
	if err != nil || then == "" {
		return err
	}
	j.task = true
	child, err := k.Store.Agent(ctx, a)
	if err != nil {
		return err
	}
	up, ok, err := k.ancestor(ctx, child)
	if err != nil || !ok {
		return err
	}
	wakes, err := k.wanted(ctx, up.ID, a)
	if err != nil {
		return err
	}
	k.owe(j, up.ID, a, wakes) // before the parent's own turn can end
	return nil
}

// woken counts the turns of an agent that mail began since a person last prompted it, by the notices at their beginning.
func (k *Kernel) woken(ctx context.Context, a id.Agent) (int, error) {
	n := 0
	for e, err := range k.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Newest: lookedAt, Any: true}) {
		if err != nil {
			return n, err
		}
		switch e.Kind {
		case history.User:
			if m, err := e.Decode(); err != nil || m.Then == "" {
				return n, err
			}
		case history.Notice:
			parts, err := e.Parts()
			if err != nil {
				return n, err
			}
			switch said := history.Plain(parts); {
			case strings.HasPrefix(said, "Mail from the user"):
				return n, nil
			case strings.HasSuffix(said, readIt):
				n++
			}
		}
	}
	return n, nil
}
