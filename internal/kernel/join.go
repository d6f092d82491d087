package kernel

import (
	"context"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// What a person says to an agent that works joins the turn which is under way: it arrives behind
// the results of the running step, as the user's words. Whoever asked for it gets the outcome of
// that turn. What is more than words (another model, a budget, a new context), and what comes
// from programs, waits for the end of the turn.

// joins reports whether a job can join the turn of another.
func (j *job) joins(turn *job) bool {
	p := j.prompt
	person := j.by != nil && (j.by.Face == history.Terminal || j.by.Face == history.Page)
	same := p.Model == (llm.Ref{}) || p.Model == turn.prompt.Model
	return person && same && p.Text != "" && len(p.Files) == 0 && p.Effort == "" && !p.Fresh && p.Budget == nil && p.Last == nil &&
		!j.task && j.only == nil && turn.only == nil
}

// hear takes what was said meanwhile out of the inbox, in its order: as far as it can join the turn.
func (p *agentProcess) hear(ctx context.Context, a agent.Agent, turn *job) loop.Heard {
	var drafts []history.Draft
	var joined []*job
	for len(p.ahead) == 0 {
		var j *job
		select {
		case j = <-p.inbox:
		default:
		}
		if j == nil {
			break
		}
		said, err := history.Say(history.User, j.prompt.Text)
		if err != nil || !j.joins(turn) {
			p.ahead = append(p.ahead, j)
			break
		}
		if !p.kernel.take(j, nothing) {
			continue // taken back
		}
		added, err := p.submits(ctx, p.kernel.hooksOf(a), j)
		if err != nil {
			drafts = append(drafts, added...)
			p.over(j, loop.Outcome{}, err)
			continue
		}
		said.Meta.Actor = j.by
		drafts, joined = append(append(drafts, said), added...), append(joined, j)
	}
	return loop.Heard{Drafts: drafts, Written: func(err error) {
		if err != nil { // they were not said
			for _, j := range joined {
				p.over(j, loop.Outcome{}, err)
			}
			return
		}
		p.joined = append(p.joined, joined...)
	}}
}

// part ends the jobs that joined a turn, as it ended.
func (p *agentProcess) part(o loop.Outcome, err error) {
	o.Began = true
	for _, j := range p.joined {
		if j.ctx.Err() == nil || err == nil {
			p.over(j, o, err)
		} else {
			p.over(j, o, stopped(j.ctx, err))
		}
	}
	p.joined = nil
}

// hearing is the port of a turn through which it hears the user.
func (p *agentProcess) hearing(a agent.Agent, turn *job) func(context.Context) loop.Heard {
	return func(ctx context.Context) loop.Heard { return p.hear(ctx, a, turn) }
}
