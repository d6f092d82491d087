package kernel

import "ramet/internal/turn/loop"

// over ends a job: it is told of, then its result is there.
func (p *agentProcess) over(j *job, o loop.Outcome, err error) {
	p.kernel.Events.Publish(loop.Event{Type: loop.TurnEnded, Agent: p.id, Turn: j.number, Outcome: &o, Err: err})
	j.finish(p.kernel, o, err)
}

func (j *job) finish(k *Kernel, o loop.Outcome, err error) {
	j.result = result{o, err}
	k.mu.Lock()
	k.settle(j)
	k.mu.Unlock()
	close(j.done)
	if j.within {
		j.family.done()
	}
	k.jobs.done()
	k.nudge()
}

// count makes a job one of those that are under way.
func (k *Kernel) count(p *agentProcess, j *job) {
	j.done, j.number = make(chan struct{}), k.turns.Add(1)
	if j.family == nil {
		j.family = &counter{attended: k.attended(j.by), of: p.id, terms: j.prompt.Terms}
	}
	if j.within = j.task || j.woken; j.within {
		j.family.add()
	}
	k.jobs.add()
	k.mu.Lock()
	defer k.mu.Unlock()
	p.pending++
	j.of = p
}

// settle takes a job out of those that are pending; the caller has the mutex.
func (k *Kernel) settle(j *job) {
	mourned := j.of != nil && j.of.mourned
	if j.of != nil {
		j.of.pending--
		j.of = nil
	}
	if mourned {
		j.owed = "" // until it is told
		return
	}
	k.paid(j)
}
