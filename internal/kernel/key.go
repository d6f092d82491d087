package kernel

import (
	"context"
	"errors"
	"time"

	"ramet/internal/core/agent"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

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
