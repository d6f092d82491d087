package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/launch/sandbox"
)

// The limits of commands in the background. Where they are confined, each gets its part of
// the memory and of the processes that one command may use.
const (
	mostJobs    = 4  // of one agent that run at a time
	mostJobsAll = 32 // of all agents of a kernel
	mostOver    = 16 // of one agent that are over and still known
)

// Jobs are the commands that the agents of one kernel left running. They end with their
// agent (End), with the kernel (Close), and however the process ends (package sandbox). It is
// safe for concurrent use.
type Jobs struct {
	changed func(id.Agent) // nil: nothing is called

	ctx  context.Context // ends with Close
	stop context.CancelFunc

	mu     sync.Mutex
	of     map[id.Agent][]*job // in the order of their numbers
	closed bool
}

// NewJobs returns an empty table. It calls changed with the agent whose commands began or ended; nil:
// nothing is called.
func NewJobs(changed func(id.Agent)) *Jobs {
	j := &Jobs{changed: changed, of: map[id.Agent][]*job{}}
	j.ctx, j.stop = context.WithCancel(context.Background())
	return j
}

// job is one command.
type job struct {
	number  int
	command string
	began   time.Time
	kill    func()
	release context.CancelFunc
	over    chan struct{} // closed when all below is final

	mu    sync.Mutex
	fresh *ends // what was printed since the last look
	limit [2]int
	all   *spool
	more  chan struct{} // closed at the next output; nil: nothing waits
	seen  int64         // bytes that were handed out
	total int64
	how   string // how it ended; empty: it runs
	ended time.Time
	fails bool
}

// Write never fails.
func (j *job) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fresh.Write(p)
	j.all.Write(p)
	j.total += int64(len(p))
	if j.more != nil {
		close(j.more)
		j.more = nil
	}
	return len(p), nil
}

// take returns what was printed since the last time.
func (j *job) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fresh.where = j.all.where()
	out := j.fresh.String()
	j.fresh = newEnds(j.limit[0], j.limit[1])
	j.seen = j.total
	return out
}

// printed reports whether a text was printed since the last look; next is closed when there is
// more.
func (j *job) printed(text string) (found bool, next <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.more == nil {
		j.more = make(chan struct{})
	}
	return strings.Contains(j.fresh.String(), text), j.more
}

// state returns how it is, on one line.
func (j *job) state() (said string, running, failed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.how == "" {
		return "[runs]", true, false
	}
	return j.how, false, j.fails
}

// follow sees a command to its end.
func (j *job) follow(p *sandbox.Process, ending func(sandbox.Result, error) (how string, failed bool), told func()) {
	result, err := p.Wait()
	how, failed := ending(result, err)
	j.mu.Lock()
	j.all.close()
	how = cmp.Or(how, "[ended, exit code 0]")
	j.how, j.fails, j.ended = how, failed, time.Now()
	j.mu.Unlock()
	close(j.over)
	told()
}

// admit keeps a place for a command, if there is room, and gives it the next number of its
// agent, who was told of earlier ones, in this process or another.
func (j *Jobs) admit(a id.Agent, earlier int) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0, sentenceError("Nothing was run: this process is ending.")
	}
	mine, all := 0, 0
	for of, list := range j.of {
		for _, one := range list {
			if of == a {
				earlier = max(earlier, one.number)
			}
			if !one.isOver() {
				all++
				if of == a {
					mine++
				}
			}
		}
	}
	switch {
	case mine >= mostJobs:
		return 0, sentenceError("Nothing was run: %d commands of yours run in the background, and no more may. Stop one with job.", mine)
	case all >= mostJobsAll:
		return 0, sentenceError("Nothing was run: %d commands of agents run in the background, and no more may.", all)
	}
	one := &job{number: earlier + 1, over: make(chan struct{}), kill: func() {}} // its place, until it has begun
	j.of[a] = append(j.of[a], one)
	return one.number, nil
}

func (j *job) isOver() bool {
	select {
	case <-j.over:
		return true
	default:
		return false
	}
}

// put takes the place of an admitted one; nil: it could not be started.
func (j *Jobs) put(a id.Agent, number int, made *job) {
	j.mu.Lock()
	list := j.of[a]
	i := slices.IndexFunc(list, func(one *job) bool { return one.number == number })
	var stray *job
	switch {
	case i < 0: // the agent ended meanwhile
		stray = made
	case made == nil:
		list = slices.Delete(list, i, i+1)
	default:
		list[i] = made
	}
	for over := 0; i >= 0; { // the oldest that are over are forgotten
		over = 0
		first := -1
		for k, one := range list {
			if one.isOver() {
				if over++; first < 0 {
					first = k
				}
			}
		}
		if over <= mostOver {
			break
		}
		list = slices.Delete(list, first, first+1)
	}
	if i >= 0 {
		j.of[a] = list
	}
	j.mu.Unlock()
	if stray != nil {
		stray.kill()
		<-stray.over
	}
}

// find returns a command of an agent.
func (j *Jobs) find(a id.Agent, number int) (*job, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, one := range j.of[a] {
		if one.number == number && one.fresh != nil {
			return one, true
		}
	}
	return nil, false
}

// Running returns the commands of an agent that run, for people: "1 npm run dev".
func (j *Jobs) Running(a id.Agent) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, one := range j.of[a] {
		if one.fresh != nil && !one.isOver() {
			out = append(out, fmt.Sprintf("%d %s", one.number, text.Line(one.command, 60)))
		}
	}
	return out
}

// Agents returns those whose commands run.
func (j *Jobs) Agents() []id.Agent {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []id.Agent
	for a, list := range j.of {
		if slices.ContainsFunc(list, func(one *job) bool { return one.fresh != nil && !one.isOver() }) {
			out = append(out, a)
		}
	}
	return out
}

// End ends all commands of an agent, and returns when nothing of them runs.
func (j *Jobs) End(a id.Agent) {
	j.mu.Lock()
	list := j.of[a]
	delete(j.of, a)
	j.mu.Unlock()
	for _, one := range list {
		one.kill()
	}
	for _, one := range list {
		if one.fresh != nil {
			<-one.over
		}
	}
}

// Close ends all commands, and returns when nothing of them runs.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.closed = true
	agents := make([]id.Agent, 0, len(j.of))
	for a := range j.of {
		agents = append(agents, a)
	}
	j.mu.Unlock()
	j.stop()
	for _, a := range agents {
		j.End(a)
	}
}

func (j *Jobs) told(a id.Agent) {
	if j.changed != nil {
		j.changed(a)
	}
}
