package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
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
	if err := g.show(DemoStep{Title: "Question: what no rule permits is asked for; where nobody can be asked it is not done."}); err != nil {
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
