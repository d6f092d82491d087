// Package hookprogram runs the commands of hooks (package hook).
//
//   - A hook of the project runs confined and without the network; where the system cannot confine, it does not run and
//     has failed. The user's own hooks run unconfined and start in an empty folder: the event names the agent's folder as
//     cwd. Both get the environment that package launch chooses, and none of ramet's keys.
//   - A hook of the project runs only with the command that a person accepted, and only if the files of the project that
//     it names, and those next to them in a folder of hooks, are the accepted bytes. Otherwise it has failed; a failed
//     hook that could object counts as an objection.
//   - Hooks of one event run concurrently, each once. What one started is ended with it, and after its timeout.
package hookprogram

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/turn/hook"
)

// Runner runs hooks for one project.
type Runner struct {
	Project string   // its folder
	Env     []string // of every hook
	Free    []string // what the user's own get besides
	// Box returns the limits of a hook of the project, in the folder of an agent; an error: nothing
	// can be confined.
	Box func(dir string) (*sandbox.Box, error)
	// Accepted refuses a command to be run in a folder if its files in the project are not what a person accepted.
	Accepted func(dir, command string) error
}

// mostOutput limits how many bytes of a hook's output are kept.
const mostOutput = 1 << 20

// Fire runs the hooks that fit, and puts together what they say. When ctx ends they are killed.
func (r Runner) Fire(ctx context.Context, hooks []hook.Hook, o hook.Occasion, p hook.Place) hook.Verdict {
	var fit []hook.Hook
	for _, h := range hooks {
		same := func(other hook.Hook) bool {
			return other.Command == h.Command && other.Project == h.Project && other.Theirs == h.Theirs
		}
		if h.Fits(o) && !slices.ContainsFunc(fit, same) {
			fit = append(fit, h)
		}
	}
	if len(fit) == 0 {
		return hook.Verdict{}
	}
	ran := make([]hook.Ran, len(fit))
	var work sync.WaitGroup
	for i, h := range fit {
		work.Go(func() { ran[i] = r.run(ctx, h, o, p) })
	}
	work.Wait()
	return hook.Judge(o, p, ran)
}

// run runs one hook.
func (r Runner) run(ctx context.Context, h hook.Hook, o hook.Occasion, p hook.Place) hook.Ran {
	begun := time.Now()
	out := hook.Ran{Hook: h}
	if h.Broken != nil {
		out.Failed, out.Objects = h.Broken, true
		return out
	}
	limited, cancel := context.WithTimeout(ctx, h.Patience())
	defer cancel()
	cmd, err := r.command(h, o, p)
	if err != nil {
		out.Failed, out.Objects = err, fault.Is(err, fault.Untrusted)
		return out
	}
	result, err := runHook(limited, cmd, h.Input(o, p), &out)
	out.Exit, out.Took = result.ExitCode, time.Since(begun)
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		out.TimedOut = true
	case ctx.Err() != nil:
		out.Failed = ctx.Err()
	case err != nil:
		out.Failed = err
	}
	return out
}

// command returns a hook as it may run.
func (r Runner) command(h hook.Hook, o hook.Occasion, p hook.Place) (launch.Program, error) {
	dir := p.Dir
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = r.Project
	}
	env := append(slices.Clone(r.Env), "CLAUDE_PROJECT_DIR="+r.Project, "RAMET_PROJECT="+r.Project, "RAMET_HOOK="+string(o.Event), "RAMET_AGENT="+p.Agent)
	cmd := launch.Program{Purpose: launch.UserHook, Project: r.Project, Command: sandbox.Command{Args: []string{findShell(r.Env), "-c", h.Command}, Dir: dir, Env: env}}
	if !h.Project {
		cmd.Env = append(cmd.Env, r.Free...)
		return cmd, nil
	}
	box, err := r.Box(dir)
	if err != nil {
		return cmd, fault.New(fault.Failed, "a project's hook runs confined only: %w", err)
	}
	cmd.Purpose, cmd.Confine = launch.ProjectHook, box
	cmd.Check = func() error { return r.Accepted(dir, h.Command) }
	return cmd, cmd.Check()
}

// runHook runs a command that is told something, and keeps what it says.
func runHook(ctx context.Context, cmd launch.Program, input []byte, out *hook.Ran) (sandbox.Result, error) {
	said, complained := &text.EndsBuffer{Head: mostOutput}, &text.EndsBuffer{Head: mostOutput}
	cmd.Output = complained
	p, inW, outR, err := launch.Speak(ctx, cmd)
	if err != nil {
		return sandbox.Result{}, err
	}
	written, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		_, _ = inW.Write(input) // one that does not read is not told
		inW.Close()
	}()
	go func() {
		defer close(read)
		_, _ = io.Copy(said, outR)
	}()
	result, err := p.Wait()
	inW.SetDeadline(time.Now())
	<-written
	select {
	case <-read:
	case <-time.After(time.Second): // where something outlived it that still holds the pipe
		outR.SetDeadline(time.Now())
		<-read
	}
	outR.Close()
	out.Out, _, _ = said.Kept()
	out.Err, _, _ = complained.Kept()
	return result, err
}

// findShell returns the one that hooks are written for.
func findShell(env []string) string {
	if _, err := sandbox.LookPath("bash", string(filepath.Separator), env); err == nil {
		return "bash"
	}
	return "sh"
}
