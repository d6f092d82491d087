package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
)

func demoCommand(l *Line) *cobra.Command {
	return l.command("demo", "A guided tour on a throw-away workspace", `Take a guided tour in a temporary workspace: fork, mail, a question, a SIGKILL in the
middle of a command and the recovery, kill, verify, the page. On a terminal, Enter
continues after each chapter, q quits, and the tour ends in ramet's own screen. Otherwise
it runs without pauses. It needs no key, and removes everything it made.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		g := &guide{ctx: ctx, l: l, attended: l.Terminal && l.Password != nil && !l.JSON}
		if g.tour(); errors.Is(g.failed, errEnough) {
			return nil, nil
		}
		return nil, g.failed
	})
}

// scene is the datum of demo: one thing that was done, and what came of it.
type scene struct {
	Title   string `json:"title,omitempty"`   // what is shown, at the beginning of a chapter
	Command string `json:"command,omitempty"` // as a user would type it
	Output  string `json:"output,omitempty"`
	Exit    int    `json:"exit"`
}

func (d scene) Text(w *printer.Writer) {
	if d.Title != "" {
		w.Line("\n%v", w.Bold(d.Title))
	}
	if d.Command != "" {
		w.Line("  %v", w.Dim("$ "+d.Command))
	}
	w.Block("  ", d.Output)
}

// guide leads through the tour. After something failed, its methods do nothing.
type guide struct {
	ctx      context.Context
	l        *Line
	exe, dir string
	attended bool      // a person takes the tour
	server   *exec.Cmd // nil: none runs
	failed   error
}

var errEnough = errors.New("enough")

func (g *guide) tour() {
	var err error
	if g.exe, err = os.Executable(); err != nil {
		g.fail("find the ramet binary: %w", err)
		return
	}
	if g.dir, err = os.MkdirTemp("", "ramet-demo-"); err != nil {
		g.failed = err
		return
	}
	defer os.RemoveAll(g.dir)
	defer g.leave()
	for i, chapter := range []func(){g.think, g.question, g.survive, g.fork, g.mail, g.crash, g.kill, g.prove, g.page} {
		if i > 0 {
			g.next("Enter continues")
		}
		if g.failed == nil {
			chapter()
		}
	}
	g.home()
}

func (g *guide) fail(format string, args ...any) { g.check(fmt.Errorf("demo: "+format, args...)) }

func (g *guide) check(err error) {
	if g.failed == nil {
		g.failed = err
	}
}

func (g *guide) show(s scene) {
	if g.failed == nil {
		g.failed = g.l.Printer().PrintLine(s)
	}
}

func (g *guide) title(text string) { g.show(scene{Title: text}) }

// next waits until the person, if there is one, presses Enter; q, or the end of the input, is enough of the tour. It reads
// letter by letter: what is typed ahead belongs to the next reader.
func (g *guide) next(does string) {
	if !g.attended || g.failed != nil {
		return
	}
	fmt.Fprintf(g.l.Stdout, "\n%s (q leaves) ", does)
	var typed []byte
	for one := make([]byte, 1); len(typed) == 0 || typed[len(typed)-1] != '\n'; typed = append(typed, one...) {
		g.check(g.ctx.Err())
		if n, err := g.l.Stdin.Read(one); n == 0 || err != nil {
			g.check(errEnough)
		}
		if g.failed != nil {
			return
		}
	}
	if s := strings.TrimSpace(string(typed)); s == "q" || s == "quit" {
		g.failed = errEnough
	}
}

// command is the binary in the demo's own world: no configuration, database or
// home of the user, and no model but the one that is built in.
func (g *guide) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(g.ctx, g.exe, args...)
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

// start starts a command and returns the lines that it prints; nil: it can't be started.
func (g *guide) start(cmd *exec.Cmd) *bufio.Scanner {
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.check(err)
		return nil
	}
	return bufio.NewScanner(out)
}

func (g *guide) run(want int, args ...string) {
	out, exit := g.quiet(args...)
	g.show(scene{Command: "ramet " + quoteArguments(args), Output: out, Exit: exit})
	if exit != want {
		g.fail("ramet %s ended with %d, not %d", quoteArguments(args), exit, want)
	}
}

func (g *guide) quiet(args ...string) (out string, exit int) {
	if g.failed != nil {
		return "", 0
	}
	cmd := g.command(args...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		g.check(err)
	}
	return b.String(), cmd.ProcessState.ExitCode()
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

func (g *guide) script(title string, commands ...[]string) {
	g.title(title)
	for _, c := range commands {
		g.run(0, c...)
	}
}

// think lets agents work by themselves, on the model that is built in: it costs
// nothing and needs no network.
func (g *guide) think() {
	g.script("Think: an agent reads, writes, runs commands and forks itself. This model is built in; with a key, a real one thinks.",
		[]string{"exec", "--allow", "write(**)", `write "a ramet shares its roots" to motto.txt`},
		[]string{"exec", "--allow", "bash!(wc -w motto.txt)", "fork two children: one reads motto.txt and one runs `wc -w motto.txt`"},
		[]string{"ps"})
}

// question lets an agent want something that no rule permits. A person is asked.
func (g *guide) question() {
	g.title("Question: what no rule permits needs your approval; where no person can be asked, it isn't done.")
	g.check(os.WriteFile(filepath.Join(g.dir, "draft.txt"), []byte("not needed any more\n"), 0o600))
	order := "run `rm draft.txt`"
	if !g.attended {
		g.run(7, "exec", order)
		return
	}
	g.serve()
	defer g.leave()
	g.show(scene{Command: "ramet " + quoteArguments([]string{"exec", order})})
	g.attach("exec", order)
}

// survive kills the process in the middle of a command that an agent runs.
func (g *guide) survive() {
	g.title("Survive: the process is killed with SIGKILL while its agent runs a command.")
	marker := fmt.Sprintf("sleep 5%d", os.Getpid()) // long, and no other process's
	cmd := g.command("exec", "--json", "--allow", "bash", "run `"+marker+"`")
	lines := g.start(cmd)
	if lines == nil {
		return
	}
	started := false
	for !started && lines.Scan() {
		started = strings.Contains(lines.Text(), `"type":"call_started"`)
	}
	running := started && waitFor(func() bool { return isAlive(marker) })
	cmd.Process.Kill()
	cmd.Wait() // being killed is the point
	if !started {
		g.fail("the agent did not begin to run %q", marker)
	}
	g.show(scene{Command: "ramet " + quoteArguments([]string{"exec", "--allow", "bash", "run `" + marker + "`"}), Output: "Killed\n", Exit: 137})
	if runtime.GOOS == "linux" { // where processes can be looked at, and contained
		if !running || !waitFor(func() bool { return !isAlive(marker) }) {
			g.fail("was %q running: %t; it should have been, and should be gone", marker, running)
		}
		g.show(scene{Output: "The command died with it.\n"})
	}
	g.run(0, "ps")
	g.run(0, "exec", "read motto.txt")
	g.run(0, "log", "--limit", "6")
}

func waitFor(fact func() bool) bool {
	for late := time.Now().Add(10 * time.Second); !fact(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			return false
		}
	}
	return true
}

func isAlive(line string) bool {
	words := strings.ReplaceAll(line, " ", "\x00") + "\x00"
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is a good one
	for _, path := range found {
		if text, err := os.ReadFile(path); err == nil && string(text) == words {
			return true
		}
	}
	return false
}

func (g *guide) fork() {
	g.script("Fork: a child inherits the conversation by reference, at any length, in one commit.",
		[]string{"append", "0", "We must choose a cache for the parser."},
		[]string{"append", "0", "--kind", "assistant", "Two ideas: LRU, or none at all."},
		[]string{"fork", "--name", "ada", "--prompt", "Try the LRU."},
		[]string{"fork", "--name", "bob", "--prompt", "Try without."},
		[]string{"append", "0", "I wait for you both."},
		[]string{"fork", "ada", "--name", "ada-tests"},
		[]string{"ps"},
		[]string{"log", "ada", "--limit", "3"})
}

func (g *guide) mail() {
	g.script("Mail: agents write to each other. Mail is pulled, never pushed into a context.",
		[]string{"send", "0", "--from", "ada", "LRU wins: 3 times as fast."},
		[]string{"send", "0", "--from", "bob", "Mine is simpler."},
		[]string{"mail", "0"},
		[]string{"read", "0"})
}

// crash kills the binary at random moments of its work: as often before as after it says what it
// wrote.
func (g *guide) crash() {
	const tries = 24
	g.title(fmt.Sprintf("Crash: %d times `ramet append bob …` is killed with SIGKILL, at a random moment.", tries))
	began := time.Now()
	if _, exit := g.quiet("append", "bob", "step 0"); exit != 0 {
		g.fail("append ended with %d", exit)
	}
	usual := time.Since(began)          // how long it takes on this machine, about
	acknowledged := map[string]string{} // id to text
	killed := 0
	for n := 0; g.failed == nil && (n < tries || len(acknowledged) == 0 && n < 10*tries); n++ {
		text := fmt.Sprintf("step %d", n+1)
		id, dead := g.appendAndKill(text, usual/2+time.Duration(rand.Int64N(int64(usual))))
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
	out, exit := g.quiet("log", "bob", "--own", "--json")
	if exit != 0 {
		g.fail("the workspace can't be reopened: %s", out)
	}
	for id, text := range acknowledged {
		if !strings.Contains(out, fmt.Sprintf(`{"id":%s,`, id)) || !strings.Contains(out, fmt.Sprintf(`"content":"%s"`, text)) {
			g.fail("message %s (%s) was acknowledged and is lost", id, text)
		}
	}
	g.show(scene{Output: fmt.Sprintf("Killed in the middle: %d. They printed the ids of %d entries, and all of them are there. Nothing is half-done.\n",
		killed, len(acknowledged))})
	g.run(0, "log", "bob", "--limit", "2")
}

// appendAndKill gives the id that was printed, if any was, and whether the
// process was killed before it ended by itself.
func (g *guide) appendAndKill(text string, after time.Duration) (id string, dead bool) {
	cmd := g.command("append", "bob", text)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		g.check(err)
		return "", false
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	cmd.Wait() // being killed is the point
	return strings.TrimSpace(out.String()), !cmd.ProcessState.Exited()
}

func (g *guide) kill() {
	g.script("Kill: an agent ends with its whole subtree; its history stays readable.",
		[]string{"kill", "ada", "--cascade"},
		[]string{"ps", "--all"})
}

func (g *guide) prove() {
	g.script("Prove: every entry is linked by hashes; a change of the record is found.", []string{"verify"}, []string{"backup", "copy.db"})
	path := filepath.Join(g.dir, "copy.db")
	data, err := os.ReadFile(path)
	g.check(err)
	forged := bytes.Replace(data, []byte("LRU, or none"), []byte("LRU, or nine"), 1)
	if bytes.Equal(data, forged) {
		g.fail("the message to forge is not in the copy")
	}
	g.check(os.WriteFile(path, forged, 0o600))
	g.show(scene{Command: "sed -i 's/LRU, or none/LRU, or nine/' copy.db"})
	g.run(5, "--db", "copy.db", "verify")
}

// serve starts a server in the demo's world and returns the link to its page.
func (g *guide) serve() string {
	if g.server == nil {
		cmd := g.command("serve", "--addr", "127.0.0.1:0")
		ready := g.start(cmd)
		if ready == nil {
			return ""
		}
		g.server = cmd
		for ready.Scan() && !strings.Contains(ready.Text(), "http://") {
		}
		if !strings.Contains(ready.Text(), "http://") {
			g.fail("the server did not begin")
		}
		go func() { // it must not wait for a reader
			for ready.Scan() {
			}
		}()
	}
	said, exit := g.quiet("web")
	if exit != 0 {
		g.fail("ramet web ended with %d: %s", exit, said)
	}
	return strings.TrimSpace(said)
}

// leave ends the server, if there is one, and the background kernel of the demo's own home.
func (g *guide) leave() {
	if g.server == nil {
		return
	}
	g.server.Process.Signal(os.Interrupt)
	g.server.Wait() // however it ended, it is gone
	g.server = nil
	defer func(ctx context.Context) { g.ctx = ctx }(g.ctx)
	g.ctx = context.WithoutCancel(g.ctx)
	g.command("server", "stop", "--force").Run() // the demo's folder is removed next
}

func (g *guide) page() {
	g.title("Page: `ramet serve` has all of it for a browser, live; `ramet web` prints a link that works once.")
	g.show(scene{Command: "ramet web", Output: g.serve() + "\n"})
	g.next("Open it, if you like; Enter continues")
}

func (g *guide) home() {
	if g.attended {
		g.title("Home: `ramet` is one screen for all of them. You are in it next; Ctrl+C twice leaves.")
		g.next("Enter opens it")
		g.attach()
	}
	g.title("That was a throw-away workspace; it is gone now. Yours begins with `ramet` in any project.")
}

// attach carries out a command on the terminal of the person who takes the tour, who decides how it ends.
func (g *guide) attach(args ...string) {
	if g.failed != nil {
		return
	}
	cmd := g.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); !errors.As(err, new(*exec.ExitError)) {
		g.check(err)
	}
}
