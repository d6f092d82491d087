package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/turn/tool"
)

// prompt is the time within which the failure of a background command is reported at once.
const prompt = 300 * time.Millisecond

type jobArgs struct {
	ID    float64
	Wait  float64
	Until string
	Stop  bool
}

// job returns the tool that looks after commands in the background.
func (l *Local) job() tool.Tool {
	return &one{run: withArguments(l.runJob), spec: tool.Describe("job", tool.Spec{
		Args: l.commandShapes().job,
		Summary: summarise(func(a jobArgs) string {
			verb := "look at"
			if a.Stop {
				verb = "stop"
			}
			return fmt.Sprintf("%s command %.0f in the background", verb, a.ID)
		}),
	})}
}

func (l *Local) runJob(ctx context.Context, c tool.Call, args jobArgs) (tool.Answer, error) {
	one, ok := l.o.Jobs.find(l.o.For, int(args.ID))
	if !ok {
		return tool.Failed(l.unknownJob(int(args.ID))), nil
	}
	if args.Stop {
		one.kill()
		select {
		case <-one.over:
		case <-ctx.Done():
			return tool.Answer{}, ctx.Err()
		}
	}
	if err := one.await(ctx, time.Duration(args.Wait*float64(time.Second)), args.Until); err != nil {
		return tool.Answer{}, err
	}
	how, running, failed := one.state() // before the output: what is printed at the end is not missed
	out := one.take()
	if out == "" && running {
		out = "[nothing new]"
	}
	return tool.Answer{Text: appendLine(out, how), Show: fmt.Sprintf("%s\n%s", text.Line(one.command, 200), appendLine(out, how)), IsError: failed && !args.Stop}, nil
}

// await waits for the end of a command, or for what it prints.
func (j *job) await(ctx context.Context, patience time.Duration, until string) error {
	if patience <= 0 {
		return nil
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		var more <-chan struct{}
		if until != "" {
			var found bool
			if found, more = j.printed(until); found {
				return nil
			}
		}
		select {
		case <-j.over:
			return nil
		case <-late.C:
			return nil
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unknownJob describes what became of a command that does not run here.
func (l *Local) unknownJob(number int) string {
	l.mu.Lock()
	known, ok := l.jobs[number]
	l.mu.Unlock()
	said := fmt.Sprintf("There is no background command %d.", number)
	switch {
	case !ok:
		return said
	case known.By != string(l.o.For):
		said = fmt.Sprintf("Command %d (%s) belongs to the agent that you were forked from.", number, text.Line(known.Command, 100))
	default:
		said = fmt.Sprintf("Command %d (%s) does not run any more: it ended with its turn, which was stopped, or with the process that ran it.", number, text.Line(known.Command, 100))
	}
	if known.File != "" {
		said += " What it printed is in " + known.File + "."
	}
	return said
}

// jobMemo is the record of a background command in the history.
type jobMemo struct {
	Number  int    `json:"number"`
	By      string `json:"by"`
	Command string `json:"command"`
	File    string `json:"file,omitempty"`
}

// begin starts a command that continues after its call.
func (l *Local) begin(ctx context.Context, c tool.Call, args bashArgs) (tool.Answer, error) {
	jobs := l.o.Jobs
	if jobs == nil {
		return tool.Failed("Nothing was run: background commands are not available here."), nil
	}
	l.mu.Lock()
	earlier := 0
	for n := range l.jobs {
		earlier = max(earlier, n)
	}
	l.mu.Unlock()
	number, err := jobs.admit(l.o.For, earlier)
	if err != nil {
		return tool.Answer{}, err
	}
	limits := [2]int{l.o.Limits.Head, l.o.Limits.Tail}
	one := &job{number: number, command: args.Command, began: time.Now(), over: make(chan struct{}), limit: limits,
		fresh: newEnds(limits[0], limits[1]), all: &spool{l: l, name: "job"}, kill: func() {}, release: func() {}}
	one.all.open()
	if err := l.launch(c.Grant, one, time.Duration(args.Timeout*float64(time.Second))); err != nil {
		jobs.put(l.o.For, number, nil)
		return tool.Answer{}, err
	}
	jobs.told(l.o.For)
	return l.began(ctx, one)
}

// launch starts the program of a command; 0 is no timeout.
func (l *Local) launch(g tool.Grant, one *job, timeout time.Duration) error {
	jobs := l.o.Jobs
	cmd, err := l.command(one.command, g)
	if err != nil {
		return err
	}
	cmd.Output = one
	if cmd.Confine != nil {
		cmd.Confine.Limits = sandbox.Limits{}.Part(mostJobs)
	}
	alive := jobs.ctx
	if timeout > 0 {
		alive, one.release = context.WithTimeout(jobs.ctx, timeout)
	}
	p, err := launch.Start(alive, launch.Program{Purpose: launch.AgentCommand, Command: cmd})
	if err != nil {
		one.release()
		return sentenceError("Nothing was run: %w", err)
	}
	one.kill = p.Kill
	go one.follow(p, func(r sandbox.Result, err error) (string, bool) {
		late := time.Duration(0)
		if errors.Is(alive.Err(), context.DeadlineExceeded) {
			late = timeout
		}
		one.release()
		return describeEnding(r, err, late, confinedTo(g, false), one.peek)
	}, func() { jobs.told(l.o.For) })
	jobs.put(l.o.For, one.number, one)
	return nil
}

// began answers for a command that has begun; one that failed at once is told as such.
func (l *Local) began(ctx context.Context, one *job) (tool.Answer, error) {
	known := jobMemo{Number: one.number, By: string(l.o.For), Command: text.Line(one.command, 200), File: one.file()}
	l.mu.Lock()
	l.jobs[one.number] = known
	l.mu.Unlock()
	memory, err := json.Marshal(memo{Job: &known})
	if err != nil {
		return tool.Answer{}, err
	}
	select {
	case <-one.over:
		how, _, failed := one.state()
		return tool.Answer{Text: appendLine(one.take(), how), IsError: failed, Memo: string(memory)}, nil
	case <-time.After(prompt):
	case <-ctx.Done():
		return tool.Answer{}, ctx.Err()
	}
	return tool.Answer{Text: fmt.Sprintf("Command %d runs in the background. job shows what it prints, and stops it.", one.number), Memo: string(memory)}, nil
}

// peek returns what was printed since the last look, which stays new.
func (j *job) peek() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fresh.String()
}

// file returns where everything that it prints lies; empty: nowhere.
func (j *job) file() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.all.where()
}
