package worktree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"ramet/internal/fault"
	"ramet/internal/text"
)

// quiet keeps git from running anything of the repository's own, from waiting for
// somebody, and from going on in the background.
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

// failed is a git that ended with an error.
type failed struct {
	exit   int
	stderr string
}

func (f *failed) Error() string { return f.stderr }

// git runs git in a folder and returns what it prints.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{"-C", dir}, quiet...), args...)...)
	cmd.Env = environment(os.Environ())
	// Git removes its lock files when it is asked to end, and not when it is killed.
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 5 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return "", fault.New(fault.Cancelled, "git %s: %w", verb(args), ctx.Err())
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", fault.New(fault.NotFound, "git is not installed, or not in PATH").
			WithHint("worktrees need it: install git")
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", explain(verb(args), &failed{ended.ExitCode(), strings.TrimSpace(complaint.String())})
	}
	return "", fault.New(fault.Failed, "run git %s in %s: %w", verb(args), dir, err)
}

// verb is the first argument that is no setting.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// explain makes a fault of what git says.
func explain(what string, f *failed) error {
	said := text.Line(strings.TrimPrefix(f.stderr, "fatal: "), 500)
	if said == "" {
		said = "it says nothing"
	}
	switch {
	case strings.Contains(f.stderr, "No space left on device"):
		return wrap(fault.StorageFull, "free some space and repeat", what, said, f)
	case strings.Contains(f.stderr, ".lock': File exists"):
		return wrap(fault.Locked, "wait for the other git to end; if there is none, it died: remove that file", what, said, f)
	case strings.Contains(f.stderr, "detected dubious ownership"):
		return wrap(fault.Denied, "the repository belongs to somebody else; git's safe.directory can permit it", what, said, f)
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

// environment is ours without what would lead git elsewhere, without keys, and in
// English.
func environment(env []string) []string {
	var out []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		upper := strings.ToUpper(name)
		if strings.HasPrefix(upper, "GIT_") || strings.HasSuffix(upper, "_API_KEY") || upper == "LC_ALL" || upper == "LANGUAGE" {
			continue
		}
		out = append(out, pair)
	}
	return append(out, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=false",
		"GIT_ALLOW_PROTOCOL=none") // no command here needs another repository
}

// lines are the texts between NULs.
func lines(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}
