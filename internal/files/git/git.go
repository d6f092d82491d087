// Package git runs the git command with everything of a repository switched off, and
// does with it what runs need: clones at pinned commits, bundles, patches, branches.
//
// It promises:
//
//   - Nothing of a repository is executed: no hook, no filter, no merge driver, no
//     monitor, no program that its configuration names. Variables GIT_… count for
//     nothing, nor do keys in the environment.
//   - Bytes depend on commits alone. The user's configuration has a say only in how
//     another repository is reached: certificates, proxies, ssh, credential helpers.
//   - Another repository is asked only where a Remote is named, by the protocols of that
//     Remote. Git never waits for input.
//   - A token is in the environment of one git and nowhere else: not in arguments,
//     URLs, configuration or faults, and no hook sees it.
//   - In a repository made here files have the bytes of their blobs: no line ends are
//     changed, nothing is fetched for LFS or submodules. In trees made of bundles, where
//     others work, links are plain files that hold their target.
//   - What fails leaves no trace that matters: everything may be repeated.
//
// Git says what is wrong in its own words where nothing better is known.
package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// quiet keeps git from running anything of the repository's own, from waiting for
// a person, and from running on in the background.
var quiet = []string{
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.fsmonitor=false",
	"-c", "submodule.recurse=false",
	"-c", "merge.verifySignatures=false",
	"-c", "rerere.enabled=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "advice.detachedHead=false",
}

// alone keeps out the files of the user that git reads although they are no configuration,
// and writes names in patches as they are.
var alone = []string{
	"-c", "core.attributesFile=" + os.DevNull,
	"-c", "core.excludesFile=" + os.DevNull,
	"-c", "core.quotePath=false",
}

// Command describes how git is run. The zero value reads no configuration but the repository's
// and reaches no other repository.
type Command struct {
	Dir   string    // where
	In    []byte    // its standard input
	Out   io.Writer // takes its output, which Run then does not return
	Env   []string  // in addition to ours
	User  bool      // the user's own configuration counts
	Allow []string  // protocols by which other repositories may be reached
	Hide  []string  // values that no fault may show
}

// Run runs git in a folder and returns what it prints.
func Run(ctx context.Context, dir string, args ...string) (string, error) {
	return Command{Dir: dir}.Run(ctx, args...)
}

// Failed is a git that ended with an error.
type Failed struct {
	Exit   int
	Stderr string
}

func (f *Failed) Error() string { return f.Stderr }

// said finds out whether git ended with an error that holds one of these texts.
func said(err error, parts ...string) bool {
	f, ok := errors.AsType[*Failed](err)
	for _, part := range parts {
		if ok && strings.Contains(f.Stderr, part) {
			return true
		}
	}
	return false
}

// Run runs git and returns what it prints. An error is a fault around a *Failed where
// git itself ended with one.
func (c Command) Run(ctx context.Context, args ...string) (string, error) {
	all := append([]string{"-C", c.Dir}, quiet...)
	if !c.User {
		all = append(all, alone...)
	}
	cmd, err := launch.Command(ctx, launch.Program{Purpose: launch.Git, Project: c.Dir, Command: sandbox.Command{
		Args: slices.Concat([]string{"git"}, all, args), Umask: launch.UmaskOf(ctx),
		Env: append(environment(os.Environ(), c.User, c.Allow), c.Env...)}})
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "git is not installed, or not in PATH").WithHint("install git")
	}
	if err != nil {
		return "", err
	}
	// Git removes its lock files when it is asked to end, and not when it is killed.
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 5 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.In), &out, &complaint
	if c.Out != nil {
		cmd.Stdout = c.Out
	}
	if err = cmd.Run(); err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return "", fault.New(fault.Cancelled, "git %s: %w", verb(args), ctx.Err())
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", explain(verb(args), &Failed{ended.ExitCode(), c.hidden(strings.TrimSpace(complaint.String()))})
	}
	return "", fault.New(fault.Failed, "run git %s in %s: %w", verb(args), c.Dir, err)
}

// hidden takes out what a server may have echoed.
func (c Command) hidden(s string) string {
	if len(c.Hide) == 0 {
		return s
	}
	values := map[string]string{}
	for i, v := range c.Hide {
		values["token"+strings.Repeat("+", i)] = v
	}
	s = secret.New(values).Own(s)
	for _, v := range c.Hide { // also one that is too short for a redactor
		if v != "" {
			s = strings.ReplaceAll(s, v, "[redacted]")
		}
	}
	return s
}

// verb returns the first argument that is no setting.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// explain makes a fault of what git says.
func explain(what string, f *Failed) error {
	said := text.Line(strings.TrimPrefix(f.Stderr, "fatal: "), 500)
	if said == "" {
		said = "it says nothing"
	}
	switch {
	case strings.Contains(f.Stderr, "No space left on device"):
		return wrap(fault.StorageFull, "free some space and repeat", what, said, f)
	case strings.Contains(f.Stderr, ".lock': File exists"):
		return wrap(fault.Locked, "wait for the other git to end; if there is none, it died: remove that file", what, said, f)
	case strings.Contains(f.Stderr, "detected dubious ownership"):
		return wrap(fault.Denied, "the repository belongs to another user; git's safe.directory can permit it", what, said, f)
	}
	return wrap(fault.Failed, "", what, said, f)
}

func wrap(code fault.Code, hint, what, said string, cause error) error {
	f := fault.New(code, "git %s: %s", what, said)
	f.Err = cause
	if hint != "" {
		f = f.WithHint("%s", hint)
	}
	return f
}

// reach are the variables that say how another repository is reached. They count where
// one may be.
var reach = map[string]bool{"GIT_SSH": true, "GIT_SSH_COMMAND": true, "GIT_SSH_VARIANT": true, "GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true}

// environment returns what programs for a project get of ours, without what would lead git
// elsewhere, and in English. Where another repository may be reached, what is needed for
// it is there too.
func environment(env []string, user bool, allow []string) []string {
	if len(allow) > 0 {
		env = launch.ReachingVariables(env)
	} else {
		env = launch.EnvironmentFor(env)
	}
	var out []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		upper := strings.ToUpper(name)
		switch {
		case strings.HasPrefix(upper, "GIT_") && !(len(allow) > 0 && reach[upper]), upper == "LC_ALL", upper == "LANGUAGE":
			continue
		}
		out = append(out, pair)
	}
	out = append(out, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=false",
		"GIT_NO_LAZY_FETCH=1")
	if !user {
		out = append(out, "GIT_NO_REPLACE_OBJECTS=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1")
	}
	if len(allow) == 0 {
		return append(out, "GIT_ALLOW_PROTOCOL=none") // none is not a protocol
	}
	return append(out, "GIT_ALLOW_PROTOCOL="+strings.Join(allow, ":"), "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
}

// Fields returns the texts between NULs.
func Fields(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}

// Identity is in whose name a commit is made.
type Identity struct{ Name, Email string }

// ours is the identity for commits that nothing outside ramet sees.
var ours = Identity{"ramet", "ramet@localhost"}

// UserIdentity returns the user, as git is configured: in the repository, where it is a folder of
// this machine, and in the user's own files. Without both a name and an address it is ramet.
func UserIdentity(ctx context.Context, of Remote) Identity {
	var c Command
	c.User = true
	if of.Local() {
		c.Dir = of.Path()
	}
	read := func(key string) string {
		out, err := c.Run(ctx, "config", "--get", key)
		if err != nil && c.Dir != "" {
			out, err = Command{User: true}.Run(ctx, "config", "--global", "--get", key)
		}
		if err != nil {
			return ""
		}
		return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
			if r < 0x20 || r == '<' || r == '>' {
				return ' '
			}
			return r
		}, out)), " ")
	}
	user := Identity{read("user.name"), read("user.email")}
	if user.Name == "" || user.Email == "" {
		return ours
	}
	return user
}
