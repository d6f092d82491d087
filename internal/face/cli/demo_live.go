package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// think lets agents work by themselves, on the model that is built in: it costs
// nothing and needs no network.
func (g *guide) think(ctx context.Context) error {
	if err := g.script(ctx, "Think: an agent reads, writes, runs commands and forks itself. This model is built in; with a key, a real one thinks.",
		[]string{"exec", "--allow", "write(**)", `write "a ramet shares its roots" to motto.txt`},
		[]string{"exec", "--allow", "bash(wc *)", "fork two children: one reads motto.txt and one runs `wc -w motto.txt`"},
		[]string{"ps"}); err != nil {
		return err
	}
	return nil
}

// question lets an agent want something that no rule permits. Who is there is asked.
func (g *guide) question(ctx context.Context) error {
	if err := g.show(DemoStep{Title: "Question: what no rule permits needs your approval; where no person can be asked, it isn't done."}); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(g.dir, "draft.txt"), []byte("not needed any more\n"), 0o600); err != nil {
		return err
	}
	order := "run `rm draft.txt`"
	if g.next == nil {
		_, err := g.run(ctx, 7, "exec", order)
		return err
	}
	if _, err := g.serve(ctx); err != nil {
		return err
	}
	defer g.leave()
	if err := g.show(DemoStep{Command: "ramet " + quoteArguments([]string{"exec", order})}); err != nil {
		return err
	}
	return g.attached(ctx, "exec", order)
}

// survive kills the process in the middle of a command that an agent runs.
func (g *guide) survive(ctx context.Context) error {
	if err := g.show(DemoStep{Title: "Survive: the process is killed with SIGKILL while its agent runs a command."}); err != nil {
		return err
	}
	marker := fmt.Sprintf("sleep 5%d", os.Getpid()) // long, and nobody else's
	args := []string{"exec", "--json", "--allow", "bash", "run `" + marker + "`"}
	cmd := g.command(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	started := false
	for lines := bufio.NewScanner(out); !started && lines.Scan(); {
		started = strings.Contains(lines.Text(), `"type":"call_started"`)
	}
	running := started && g.until(func() bool { return isAlive(marker) })
	cmd.Process.Kill()
	cmd.Wait() // being killed is the point
	if !started {
		return fmt.Errorf("demo: the agent did not begin to run %q", marker)
	}
	if err := g.show(DemoStep{Command: "ramet " + quoteArguments([]string{"exec", "--allow", "bash", args[4]}), Output: "Killed\n", Exit: 137}); err != nil {
		return err
	}
	if runtime.GOOS == "linux" { // where processes can be looked at, and contained
		if !running || !g.until(func() bool { return !isAlive(marker) }) {
			return fmt.Errorf("demo: was %q running: %t; it should have been, and should be gone", marker, running)
		}
		if err := g.show(DemoStep{Output: "The command died with it.\n"}); err != nil {
			return err
		}
	}
	for _, c := range [][]string{{"ps"}, {"exec", "read motto.txt"}, {"log", "--limit", "6"}} {
		if _, err := g.run(ctx, 0, c...); err != nil {
			return err
		}
	}
	return nil
}

// until waits for a fact of the system, for a while.
func (g *guide) until(fact func() bool) bool {
	for late := time.Now().Add(10 * time.Second); !fact(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			return false
		}
	}
	return true
}

// isAlive reports whether a process runs this command line.
func isAlive(line string) bool {
	words := strings.ReplaceAll(line, " ", "\x00") + "\x00"
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return false
	}
	for _, path := range found {
		if text, err := os.ReadFile(path); err == nil && string(text) == words {
			return true
		}
	}
	return false
}

// serve starts a server in the demo's world and returns the link to its page.
func (g *guide) serve(ctx context.Context) (link string, err error) {
	if g.server == nil {
		cmd := g.command(ctx, "serve", "--addr", "127.0.0.1:0")
		out, err := cmd.StdoutPipe()
		if err != nil {
			return "", err
		}
		if err := cmd.Start(); err != nil {
			return "", err
		}
		g.server = cmd
		ready := bufio.NewScanner(out)
		for ready.Scan() {
			if strings.Contains(ready.Text(), "http://") {
				break
			}
		}
		if !strings.Contains(ready.Text(), "http://") {
			return "", errors.New("demo: the server did not begin")
		}
		go func() { // it must not wait for a reader
			for ready.Scan() {
			}
		}()
	}
	said, exit, err := g.quiet(ctx, "web")
	if err != nil || exit != 0 {
		return "", fmt.Errorf("demo: ramet web ended with %d: %s %w", exit, said, err)
	}
	return strings.TrimSpace(said), nil
}

// leave ends the server, if there is one, and the background kernel of the demo's own home.
func (g *guide) leave() {
	if g.server == nil {
		return
	}
	g.server.Process.Signal(os.Interrupt)
	g.server.Wait() // however it ended, it is gone
	g.server = nil
	g.quiet(context.Background(), "server", "stop", "--force") // the demo's folder is removed next
}

// page shows where the page is. A person may look at it.
func (g *guide) page(ctx context.Context) error {
	if err := g.show(DemoStep{Title: "Page: `ramet serve` has all of it for a browser, live; `ramet web` prints a link that works once."}); err != nil {
		return err
	}
	link, err := g.serve(ctx)
	if err != nil {
		return err
	}
	if err := g.show(DemoStep{Command: "ramet web", Output: link + "\n"}); err != nil || g.next == nil {
		return err
	}
	return g.next(ctx, "Open it, if you like; Enter continues")
}

// home ends the tour inside of ramet, if a person takes it.
func (g *guide) home(ctx context.Context) error {
	const yours = "That was a throw-away workspace; it is gone now. Yours begins with `ramet` in any project."
	if g.next != nil {
		if err := g.show(DemoStep{Title: "Home: `ramet` is one screen for all of them. You are in it next; Ctrl+C twice leaves."}); err != nil {
			return err
		}
		if err := g.next(ctx, "Enter opens it"); err != nil {
			return err
		}
		if err := g.attached(ctx); err != nil {
			return err
		}
	}
	return g.show(DemoStep{Title: yours})
}

// attached carries out a command on the terminal of the person who takes the tour, who decides how it ends.
func (g *guide) attached(ctx context.Context, args ...string) error {
	cmd := g.command(ctx, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return nil
	}
	return err
}
