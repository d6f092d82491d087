package session

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// Folder returns the real path of the folder in which an agent works: instead, its own folder, or
// that of the workspace. A symbolic link that agents could have made is DENIED.
func (w *Workspace) Folder(a agent.Agent, instead string) (string, error) {
	dir := cmp.Or(instead, a.Cwd, w.Place.Project)
	real, err := w.Writable(dir)
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "the folder of agent %s, %s, is not on this machine", a.Label(), dir).
			WithHint("choose another with --cwd, or work without tools with --no-tools")
	}
	return real, err
}

// Writable returns the real path of a folder that a program of this workspace may write.
func (w *Workspace) Writable(dir string) (string, error) {
	return trust.WritableFolder(dir, w.Place.Project, filepath.Join(w.Home, "worktrees"))
}

// Folder returns the real path of the folder in which an agent works.
func (w Agents) Folder(ctx context.Context, a id.Agent) (string, error) { return w.ws.folder(ctx, a) }

func (w *Workspace) folder(ctx context.Context, a id.Agent) (string, error) {
	found, err := w.Store.Agent(ctx, a)
	if err != nil {
		return "", err
	}
	return w.Folder(found, "")
}

// Shell runs a command of the user's in the folder of an agent. No permission is asked for, and it ends with ramet.
func (w Prompts) Shell(ctx context.Context, a id.Agent, line string, output func(string)) error {
	dir, err := w.ws.folder(ctx, a)
	if err != nil {
		return err
	}
	return RunShell(ctx, dir, line, output)
}

// RunShell runs a command of the user's in a folder, with the environment of this process.
func RunShell(ctx context.Context, dir, line string, output func(string)) error {
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "sh"
	}
	p, err := launch.Start(ctx, launch.Program{Purpose: launch.UserCommand,
		Command: sandbox.Command{Args: []string{shell, "-c", line}, Dir: dir, Env: os.Environ(), Output: lines(output)}})
	if err != nil {
		return err
	}
	r, err := p.Wait()
	switch {
	case r.Killed:
		return fault.New(fault.Cancelled, "stopped")
	case err != nil:
		return err
	case r.ExitCode != 0:
		return fmt.Errorf("exit %d", r.ExitCode)
	}
	return nil
}

// lines hands output on.
type lines func(string)

func (l lines) Write(p []byte) (int, error) {
	l(string(p))
	return len(p), nil
}
