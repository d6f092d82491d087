// Package launch starts every program that is not ramet itself (drivers, MCP servers, hooks, git, commands
// of agents and runs, desktop helpers) and chooses the environment variables they get.
//
// A Program says what to start and why, in which folder, what it may write and whether it has the
// network. The rest follows from the purpose:
//
//   - A program of the user's own (a server, a hook, a notification, an editor) starts in an empty folder.
//     Interpreters and package runners obey files in the folder where they start; in a project that is
//     whatever a clone brought along. The variables RAMET_PROJECT and CLAUDE_PROJECT_DIR name the
//     project, and none of its folders is on PATH, NODE_PATH or PYTHONPATH.
//   - A driver or a program that a project names starts only after its check: the files that it obeys
//     (Rows) were accepted in exactly these bytes, or are switched off.
//   - A driver, git, readers of files and what a project's server or hook starts are not looked up in the
//     project, whatever PATH says: a file of the project starts only by its path.
//   - Everything else starts where its caller says.
//
// Package sandbox carries it out; Command is for programs that use ramet's own streams.
//
// # Environment
//
// A process that is started for a model or a project gets only the variables of a table (environment_table.go) and
// those that the user named, in their order. A value with a password in an address
// (https://user:password@host) is left out unless the user named the variable. Only a command that a
// person types (after "!") gets the whole environment.
package launch

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/launch/sandbox"
)

// Purpose names the reason for which a program is started.
type Purpose string

// The purposes.
const (
	Driver        Purpose = "driver"
	UserServer    Purpose = "MCP server of the user"
	ProjectServer Purpose = "MCP server of the project"
	UserHook      Purpose = "hook of the user"
	ProjectHook   Purpose = "hook of the project"
	Notification  Purpose = "notification"
	Clipboard     Purpose = "clipboard"
	Credential    Purpose = "credential helper"
	Probe         Purpose = "version probe"
	Git           Purpose = "git"
	AgentCommand  Purpose = "command of an agent"
	RunCommand    Purpose = "command of a run"
	UserCommand   Purpose = "command of the user"
	Editor        Purpose = "editor"
	Reader        Purpose = "reader of files"
)

// Program describes a program that is to be started. Dir is the folder that it works for, and
// where it starts unless its purpose says otherwise.
type Program struct {
	sandbox.Command
	Purpose Purpose
	Project string // the project that it works for; empty: Dir
	// Check refuses the start. A driver and the programs of a project must have one.
	Check func() error
}

// rule describes how programs of a purpose start.
type rule struct {
	neutral bool // in an empty folder
	outside bool // found, with the interpreter that it names, outside of the project
	checked bool // only after a check
}

func ruleOf(p Purpose) (rule, bool) {
	switch p {
	case Driver, ProjectServer, ProjectHook:
		return rule{checked: true, outside: true}, true
	case UserServer, UserHook, Notification, Clipboard, Credential, Editor, Probe:
		return rule{neutral: true}, true
	case Git, Reader:
		return rule{outside: true}, true
	case AgentCommand, RunCommand, UserCommand:
		return rule{}, true
	}
	return rule{}, false
}

// Start starts a program that is ended with everything it started, confined if it has a box.
func Start(ctx context.Context, p Program) (*sandbox.Process, error) {
	c, err := p.prepare()
	if err != nil {
		if p.Speaks != nil {
			p.Speaks.In.Close()
			p.Speaks.Out.Close()
		}
		return nil, err
	}
	return sandbox.Start(ctx, c)
}

// Speak starts a program that reads what is written to one file, and writes what is read from another.
func Speak(ctx context.Context, p Program) (process *sandbox.Process, to, from *os.File, err error) {
	inR, to, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fault.New(fault.Failed, "start %s: %w", p.Args[0], err)
	}
	from, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		to.Close()
		return nil, nil, nil, fault.New(fault.Failed, "start %s: %w", p.Args[0], err)
	}
	p.Speaks = &sandbox.Speech{In: inR, Out: outW}
	if process, err = Start(ctx, p); err != nil {
		to.Close()
		from.Close()
		return nil, nil, nil, err
	}
	return process, to, from, nil
}

// Command prepares a program for os/exec. Its caller sets the streams and runs it.
func Command(ctx context.Context, p Program) (*exec.Cmd, error) {
	c, err := p.prepare()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if r, _ := ruleOf(p.Purpose); (r.neutral || r.outside) && runtime.GOOS != "windows" {
		if cmd.Path, cmd.Err = sandbox.LookPath(c.Args[0], c.Dir, c.Env); cmd.Err != nil {
			return nil, cmd.Err
		}
	}
	if c.Umask != "" && runtime.GOOS != "windows" { // as no thread of this process can have one of its own
		cmd.Args = append([]string{"sh", "-c", `umask "$0" && exec "$@"`, c.Umask, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	}
	return cmd, nil
}

type umaskKey struct{}

// WithUmask returns a context for work that a client of another process asks for: the files that git makes for it have
// the client's umask, in octal. Empty: that of this process.
func WithUmask(ctx context.Context, umask string) context.Context {
	return context.WithValue(ctx, umaskKey{}, umask)
}

// UmaskOf returns the umask of WithUmask; empty: there is none.
func UmaskOf(ctx context.Context) string {
	umask, _ := ctx.Value(umaskKey{}).(string)
	return umask
}

// prepare decides folder, environment and refusal.
func (p Program) prepare() (sandbox.Command, error) {
	c := p.Command
	r, known := ruleOf(p.Purpose)
	switch {
	case len(c.Args) == 0:
		return c, fault.New(fault.Usage, "start %s: no program is named", p.Purpose)
	case !known || r.checked && p.Check == nil:
		return c, fault.New(fault.Failed, "start %s: nothing says whether a %s may start", c.Args[0], p.Purpose)
	case p.Check != nil:
		if err := p.Check(); err != nil {
			return c, err
		}
	}
	if !r.neutral && !r.outside {
		return c, nil
	}
	project := cmp.Or(p.Project, c.Dir)
	if project == "" {
		project, _ = os.Getwd() // programs that work for no project start from wherever ramet did
	}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if r.outside {
		c.Env = slices.Clone(c.Env)
		for i, pair := range c.Env {
			if name, value, _ := strings.Cut(pair, "="); name == "PATH" {
				c.Env[i] = "PATH=" + foldersOutside(c.Dir, foldersOutside(project, value))
			}
		}
		return c, nil
	}
	dir, err := NeutralFolder(project)
	if err != nil {
		return c, err
	}
	c.Dir, c.Env = dir, outsideOf(project, c.Env)
	return c, nil
}

// NeutralFolder returns an empty folder that only the user can write, outside of the project.
func NeutralFolder(project string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return filepath.VolumeName(project) + string(filepath.Separator), nil
	}
	dir := filepath.Join(cache, "ramet", "neutral")
	if isWithin(project, dir) { // a program that looks upwards would find the project
		return filepath.VolumeName(dir) + string(filepath.Separator), nil
	}
	if err = os.MkdirAll(dir, 0o700); err == nil {
		var info os.FileInfo
		if info, err = os.Lstat(dir); err == nil && (!info.IsDir() || !isPrivate(info)) {
			err = fault.New(fault.Denied, "%s is not a folder that only you can use", dir).WithHint("look who made it, and remove it")
		}
	}
	if err != nil {
		return "", fault.New(fault.StorageIO, "make an empty folder to start programs in: %w", err)
	}
	return dir, nil
}

// isWithin reports whether a path is the folder or below it, also where links lead there.
func isWithin(folder, path string) bool {
	if folder == "" || path == "" {
		return false
	}
	rel, err := filepath.Rel(sandbox.RealPath(folder), sandbox.RealPath(path))
	return err == nil && filepath.IsLocal(rel)
}

// ofProject reports whether a folder is the project's and not the user's: where the home is part
// of the project, what is below the home is the user's. Nothing is of a project that is the root of
// the file system.
func ofProject(project, dir string) bool {
	home, _ := os.UserHomeDir()
	return filepath.Dir(project) != project && isWithin(project, dir) && !(isWithin(project, home) && isWithin(home, dir))
}

// foldersOutside returns a list of folders, such as PATH, without relative ones and those of a project.
func foldersOutside(project, list string) string {
	folders := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool {
		return !filepath.IsAbs(dir) || ofProject(project, dir)
	})
	return strings.Join(folders, string(filepath.ListSeparator))
}

// outsideOf returns an environment for a program that must not execute what lies in a project.
func outsideOf(project string, env []string) []string {
	out := make([]string, 0, len(env)+3)
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "PATH", "NODE_PATH", "PYTHONPATH":
			pair = name + "=" + foldersOutside(project, value)
		case "PYTHONSAFEPATH", "INIT_CWD", "PWD", "OLDPWD":
			continue
		}
		out = append(out, pair)
	}
	out = append(out, "PYTHONSAFEPATH=1")
	for _, name := range []string{"RAMET_PROJECT", "CLAUDE_PROJECT_DIR"} {
		if project != "" && !slices.ContainsFunc(out, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
			out = append(out, name+"="+project)
		}
	}
	return out
}
