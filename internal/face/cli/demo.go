package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// DemoStep is one thing that was done, and what came of it.
type DemoStep struct {
	Title   string `json:"title,omitempty"`   // what is shown, at the beginning of a chapter
	Command string `json:"command,omitempty"` // as a user would type it
	Output  string `json:"output,omitempty"`
	Exit    int    `json:"exit"`
}

// DemoStage is the throw-away workspace of the tour.
type DemoStage struct {
	Show func(DemoStep) error // a step that was done
	// Next waits between chapters until somebody wants to go on; nil: nobody is there, and the tour
	// is told without a stop.
	Next func(ctx context.Context, does string) error
}

// RunDemo takes the tour.
func RunDemo(ctx context.Context, on DemoStage) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the ramet binary: %w", err)
	}
	dir, err := os.MkdirTemp("", "ramet-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g := &guide{exe: exe, dir: dir, show: on.Show, next: on.Next}
	defer g.leave()
	chapters := []func(context.Context) error{g.think, g.question, g.survive, g.fork, g.mail, g.crash, g.kill, g.prove, g.page}
	for i, chapter := range chapters {
		if i > 0 && g.next != nil {
			if err := g.next(ctx, "Enter continues"); err != nil {
				return err
			}
		}
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return g.home(ctx)
}

type guide struct {
	exe, dir string
	show     func(DemoStep) error
	next     func(context.Context, string) error // nil: nobody is there
	server   *exec.Cmd                           // nil: none runs
}

// command is the binary in the demo's own world: no configuration, database or
// home of the user, and no model but the one that is built in.
func (g *guide) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.exe, args...)
	cmd.Dir = g.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "RAMET_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "NO_COLOR=1", "RAMET_MODEL=offline/offline", "RAMET_HOME="+filepath.Join(g.dir, "home"), "XDG_RUNTIME_DIR="+g.dir,
		"RAMET_CONFIG="+filepath.Join(g.dir, "config.toml"))
	return cmd
}

// run does one command and shows it. Its exit code must be the one expected.
func (g *guide) run(ctx context.Context, want int, args ...string) (string, error) {
	out, exit, err := g.quiet(ctx, args...)
	if err != nil {
		return "", err
	}
	if err := g.show(DemoStep{Command: "ramet " + quoteArguments(args), Output: out, Exit: exit}); err != nil {
		return "", err
	}
	if exit != want {
		return "", fmt.Errorf("demo: ramet %s ended with %d, not %d", quoteArguments(args), exit, want)
	}
	return strings.TrimSpace(out), nil
}

func (g *guide) quiet(ctx context.Context, args ...string) (out string, exit int, err error) {
	cmd := g.command(ctx, args...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = nil
	}
	return b.String(), cmd.ProcessState.ExitCode(), err
}

func quoteArguments(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		switch out[i] = a; {
		case strings.ContainsAny(a, "\"`(*"):
			out[i] = "'" + a + "'"
		case strings.ContainsAny(a, " ,'"):
			out[i] = `"` + a + `"`
		}
	}
	return strings.Join(out, " ")
}

// script runs commands that must succeed.
func (g *guide) script(ctx context.Context, title string, commands ...[]string) error {
	if err := g.show(DemoStep{Title: title}); err != nil {
		return err
	}
	for _, c := range commands {
		if _, err := g.run(ctx, 0, c...); err != nil {
			return err
		}
	}
	return nil
}

func (g *guide) fork(ctx context.Context) error {
	return g.script(ctx, "Fork: a child inherits the conversation by reference, at any length, in one commit.",
		[]string{"append", "0", "We must choose a cache for the parser."},
		[]string{"append", "0", "--kind", "assistant", "Two ideas: LRU, or none at all."},
		[]string{"fork", "--name", "ada", "--prompt", "Try the LRU."},
		[]string{"fork", "--name", "bob", "--prompt", "Try without."},
		[]string{"append", "0", "I wait for you both."},
		[]string{"fork", "ada", "--name", "ada-tests"},
		[]string{"ps"},
		[]string{"log", "ada", "--limit", "3"})
}

func (g *guide) mail(ctx context.Context) error {
	return g.script(ctx, "Mail: agents write to each other. Mail is pulled, never pushed into a context.",
		[]string{"send", "0", "--from", "ada", "LRU wins: 3 times as fast."},
		[]string{"send", "0", "--from", "bob", "Mine is simpler."},
		[]string{"mail", "0"},
		[]string{"read", "0"})
}

// crash kills the binary at random moments of its work: as often before as after it says what it
// wrote.
func (g *guide) crash(ctx context.Context) error {
	const tries = 24
	if err := g.show(DemoStep{Title: fmt.Sprintf(
		"Crash: %d times `ramet append bob …` is killed with SIGKILL, at a random moment.", tries)}); err != nil {
		return err
	}
	began := time.Now()
	if _, exit, err := g.quiet(ctx, "append", "bob", "step 0"); err != nil || exit != 0 {
		return fmt.Errorf("demo: append ended with %d: %w", exit, err)
	}
	usual := time.Since(began)          // how long it takes on this machine, about
	acknowledged := map[string]string{} // id to text
	killed := 0
	for n := 0; n < tries || len(acknowledged) == 0 && n < 10*tries; n++ {
		text := fmt.Sprintf("step %d", n+1)
		id, dead, err := g.appendAndKill(ctx, text, usual/2+time.Duration(rand.Int64N(int64(usual))))
		if err != nil {
			return err
		}
		if dead {
			killed++
			usual += usual / 8
		} else { // the first may have been slow: about half are to be killed
			usual -= usual / 8
		}
		if id != "" {
			acknowledged[id] = text
		}
	}
	out, exit, err := g.quiet(ctx, "log", "bob", "--own", "--json")
	if err != nil || exit != 0 {
		return fmt.Errorf("demo: the workspace can't be reopened: %s", out)
	}
	for id, text := range acknowledged {
		if !strings.Contains(out, fmt.Sprintf(`{"id":%s,`, id)) || !strings.Contains(out, fmt.Sprintf(`"content":"%s"`, text)) {
			return fmt.Errorf("demo: message %s (%s) was acknowledged and is lost", id, text)
		}
	}
	if err := g.show(DemoStep{Output: fmt.Sprintf("Killed in the middle: %d. They printed the ids of %d entries, and all of them are there. Nothing is half-done.\n",
		killed, len(acknowledged))}); err != nil {
		return err
	}
	_, err = g.run(ctx, 0, "log", "bob", "--limit", "2")
	return err
}

// appendAndKill gives the id that was printed, if any was, and whether the
// process was killed before it ended by itself.
func (g *guide) appendAndKill(ctx context.Context, text string, after time.Duration) (id string, dead bool, err error) {
	cmd := g.command(ctx, "append", "bob", text)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return "", false, err
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	cmd.Wait() // being killed is the point
	return strings.TrimSpace(out.String()), !cmd.ProcessState.Exited(), nil
}

func (g *guide) kill(ctx context.Context) error {
	return g.script(ctx, "Kill: an agent ends with its whole subtree; its history stays readable.",
		[]string{"kill", "ada", "--cascade"},
		[]string{"ps", "--all"})
}

// prove changes one letter in a copy and shows that it is found.
func (g *guide) prove(ctx context.Context) error {
	if err := g.script(ctx, "Prove: every entry is linked by hashes; a change of the record is found.",
		[]string{"verify"}, []string{"backup", "copy.db"}); err != nil {
		return err
	}
	path := filepath.Join(g.dir, "copy.db")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	forged := bytes.Replace(data, []byte("LRU, or none"), []byte("LRU, or nine"), 1)
	if bytes.Equal(data, forged) {
		return errors.New("demo: the message to forge is not in the copy")
	}
	if err := os.WriteFile(path, forged, 0o600); err != nil {
		return err
	}
	if err := g.show(DemoStep{Command: "sed -i 's/LRU, or none/LRU, or nine/' copy.db"}); err != nil {
		return err
	}
	_, err = g.run(ctx, 5, "--db", "copy.db", "verify")
	return err
}
