package local

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/turn/tool"
)

type bashArgs struct {
	Command    string
	Timeout    float64
	Outside    string
	Background bool
}

func (l *Local) bash() tool.Tool {
	return l.remember(l.reading(withArguments(l.runBash)), tool.Describe("bash", tool.Spec{
		Args: l.commandShapes().bash,
		Subject: summarise(func(a bashArgs) string {
			return a.Command
		}),
		Summary: summarise(func(a bashArgs) string {
			const most = 200 // what a question shows of it: where it runs must not be cut off
			where := ""
			if said := l.where(a); said != "" {
				where = " (" + said + ")"
			}
			return text.Line(a.Command, most-utf8.RuneCountInString(where)) + where
		}),
		Where: summarise(func(a bashArgs) string {
			return l.where(a)
		}),
		Outside: summarise(func(a bashArgs) string {
			return a.Outside
		}),
	}))
}

// where describes what a command line does not: in which folder it would run, and whether in the background.
func (l *Local) where(a bashArgs) string {
	var out []string
	if rel, _ := l.folder(); rel != "." {
		out = append(out, "in "+text.Line(rel, 80))
	}
	if a.Background {
		out = append(out, "in the background")
	}
	return strings.Join(out, ", ")
}

func (l *Local) runBash(ctx context.Context, c tool.Call, args bashArgs) (tool.Answer, error) {
	if args.Background {
		return l.begin(ctx, c, args)
	}
	timeout := l.o.Limits.Timeout
	if args.Timeout > 0 {
		timeout = time.Duration(args.Timeout * float64(time.Second))
	}
	timeout = min(timeout, l.o.Limits.MaxTimeout)
	timed, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := newLimit(timeout, cancel)
	defer limit.timer.Stop()

	out := newEnds(l.o.Limits.Head, l.o.Limits.Tail)
	all := &spool{l: l, name: "bash"}
	from, _ := l.folder()
	cmd, err := l.command(args.Command, c.Grant)
	if err != nil {
		return tool.Answer{}, err
	}
	cmd.Output = tee{out, all, c.Output}
	if cmd.Confine != nil {
		cmd.Confine.Overlay = l.o.Overlay
	}
	var asked *tracker
	if moves().MatchString(args.Command) {
		var command string
		command, asked = trackFolder(args.Command)
		asked.next = cmd.Output
		cmd.Args, cmd.Output = l.shell(command), asked
	}
	var reached []string
	network := l.connect(timed, &cmd, c, args.Command, limit, &reached)
	p, err := launch.Start(timed, launch.Program{Purpose: launch.AgentCommand, Command: cmd})
	if err != nil {
		network.Close()
		return tool.Answer{}, sentenceError("Nothing was run: %w", err)
	}
	result, err := p.Wait()
	notes := network.Close()
	said, memory := "", ""
	if asked != nil {
		said, memory = l.move(from, asked.end())
	}
	out.where = all.close()
	if ctx.Err() != nil {
		return tool.Answer{Text: appendLine(out.String(), "[stopped]"), IsError: true}, ctx.Err()
	}
	result.Notes = strings.Join(append(notes, result.Notes), "\n")
	how, failed := describeEnding(result, err, timeout, confinedTo(c.Grant, network != nil), out.String)
	if said != "" {
		how = strings.TrimPrefix(how+"\n"+said, "\n")
	}
	return tool.Answer{Text: appendLine(out.String(), how), IsError: failed, Memo: memory, Foreign: reached}, nil
}

// command returns a command line as it may run, in the folder of commands.
func (l *Local) command(line string, g tool.Grant) (sandbox.Command, error) {
	_, dir := l.folder()
	cmd := sandbox.Command{Args: l.shell(line), Dir: dir, Env: l.o.Env, Umask: l.o.Umask, Socket: l.o.Socket}
	if mark, ok := l.o.For.Bytes(); ok {
		cmd.For = (*sandbox.Mark)(&mark)
	}
	switch g {
	case tool.Free:
	case tool.Confine:
		cmd.Env = l.cached(cmd.Env)
		cmd.Confine = l.confinement()
	default:
		return cmd, sentenceError("The call was not permitted (%q). Nothing was run.", g)
	}
	return cmd, nil
}

// describeEnding describes how a command ended, in lines below its output; empty: well. Confined is what it could do in
// the box; empty: it ran outside.
func describeEnding(result sandbox.Result, err error, timeout time.Duration, confined string, printed func() string) (how string, failed bool) {
	failed = true
	switch {
	case err != nil:
		how = "[" + text.Safe(err.Error()) + "]"
	case result.Killed && timeout > 0:
		how = fmt.Sprintf("[timed out after %s: the command and all that it started were killed]", timeout)
	case result.Killed:
		how = "[stopped, with all that it started]"
	case result.Signal != 0:
		how = fmt.Sprintf("[ended by signal %d, %s]", int(result.Signal), result.Signal)
	case result.ExitCode != 0:
		how = fmt.Sprintf("[exit code %d]", result.ExitCode)
	default:
		failed = false
	}
	if failed && confined != "" {
		how += "\n" + explainBox(confined, printed())
	}
	for line := range strings.Lines(strings.TrimSpace(result.Notes)) {
		how = strings.TrimPrefix(how+"\n["+text.Safe(strings.TrimSpace(line))+"]", "\n")
	}
	return how, failed
}

// confinedTo describes what a command can do in the box; empty: it runs outside.
func confinedTo(g tool.Grant, network bool) string {
	const writing = "writing only in the workspace and /tmp, "
	switch {
	case g != tool.Confine:
		return ""
	case network:
		return writing + "network only through the proxy in HTTP_PROXY, to hosts that rules such as net(HOST) permit"
	}
	return writing + "no network"
}

// refusals match the messages of programs if a file may not be written, or there is no network.
var refusals = text.Regexp(`(?i)operation not permitted|permission denied|device or resource busy|read-only file ?system|invalid cross-device link|value too large for defined data type|\bE(PERM|ACCES|ROFS|NETUNREACH|HOSTUNREACH|AI_AGAIN|NOTFOUND|CONNREFUSED)\b|` +
	`network is (unreachable|down)|no route to host|name resolution|resolve (host|address|proxy)|unable to resolve|cannot resolve|could not resolve|name or service not known|no such host|nodename nor servname|` +
	`unknown host|network error|connection refused|failed to connect|could not connect|can't connect|getaddrinfo`)

// explainBox says of a command that failed in the box whether the box may be why.
func explainBox(what, out string) string {
	if refusals().MatchString(out) {
		return "[the box may be the cause: it ran confined, " + what + "; if it must have more, call it again with outside and say why]"
	}
	return "[it ran confined: " + what + "]"
}

// appendLine puts a last line under the output.
func appendLine(out, how string) string {
	switch {
	case out == "" && how == "":
		return "[no output]"
	case out == "" || how == "":
		return out + how
	case !strings.HasSuffix(out, "\n"):
		out += "\n"
	}
	return out + how
}

// shell returns the command line as arguments.
func (l *Local) shell(command string) []string {
	name := "sh"
	if _, err := sandbox.LookPath("bash", l.o.Root, l.o.Env); err == nil {
		name = "bash"
	}
	return []string{name, "-c", "--", command} // which may begin with a dash
}

// cached lets confined commands keep what they built and fetched from one to the next, apart
// from the caches of the user, which they could poison.
func (l *Local) cached(env []string) []string {
	if l.o.Cache == "" || os.MkdirAll(l.o.Cache, 0o700) != nil {
		return env // compilers say what they miss
	}
	env = append(slices.Clip(env), "XDG_CACHE_HOME="+l.o.Cache)
	for variable, folder := range map[string]string{"GOCACHE": "go-build", "npm_config_cache": "npm", "YARN_CACHE_FOLDER": "yarn", "PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv"} {
		env = append(env, variable+"="+filepath.Join(l.o.Cache, folder))
	}
	return env
}

// confinement returns the box of a command that no person permitted.
func (l *Local) confinement() *sandbox.Box {
	box := &sandbox.Box{
		Write: []string{l.o.Root},
		Keep:  append([]string{filepath.Join(l.o.Root, ".git"), filepath.Join(l.o.Root, ".ramet")}, l.o.Keep...),
		Hide:  l.o.Hide, Show: l.o.Show,
		Guard: l.o.Quarantine, Guarded: []string{l.o.Root}, Forbid: l.o.Forbid,
	}
	if temp, err := l.makeTemp(); err == nil { // else a folder for each command
		box.Temp = temp
	}
	for _, dir := range append(slices.Clip(l.o.Write), l.o.Cache) {
		// Their parents are the user's alone: a link on the way is the user's.
		if real, err := filepath.EvalSymlinks(dir); err == nil && dir != "" {
			box.Write = append(box.Write, real)
		}
	}
	return box
}

// tee hands output to two who never fail.
type tee struct {
	kept  *ends
	all   *spool
	other func([]byte)
}

func (t tee) Write(p []byte) (int, error) {
	t.kept.Write(p)
	t.all.Write(p)
	t.other(p)
	return len(p), nil
}

// moves finds commands that may change their folder. Only these are asked where they end.
var moves = text.Regexp(`\b(cd|pushd|popd)\b`)

// tracker asks a shell in which folder it ends: a trap prints that behind a mark, which
// cannot be guessed, on the output as the shell found it. The mark and what follows are no
// output. A shell that ends without its trap does not say.
type tracker struct {
	mark  []byte
	next  interface{ Write([]byte) (int, error) }
	held  []byte // what may be the beginning of the mark, or stands behind it
	found bool
}

// trackFolder changes a command so that it says where it ends.
func trackFolder(command string) (string, *tracker) {
	mark := "\x01" + rand.Text() + "\x01"
	return fmt.Sprintf(`exec 9>&1; trap 'printf "%s%%s" "$PWD" >&9' EXIT; %s`, mark, command), &tracker{mark: []byte(mark)}
}

// Write hands on what is output.
func (t *tracker) Write(p []byte) (int, error) {
	t.held = append(t.held, p...)
	if t.found {
		return len(p), nil
	}
	out := t.held
	if i := bytes.Index(t.held, t.mark); i >= 0 {
		t.found = true
		out, t.held = t.held[:i], t.held[i+len(t.mark):]
	} else {
		n := len(t.held)
		for k := min(n, len(t.mark)-1); k >= 0; k-- {
			if bytes.HasSuffix(t.held, t.mark[:k]) {
				out, t.held = t.held[:n-k], bytes.Clone(t.held[n-k:])
				break
			}
		}
	}
	if len(out) > 0 {
		t.next.Write(out)
	}
	return len(p), nil
}

// end hands on what was no mark after all, and says where the shell ended; empty: unknown.
func (t *tracker) end() string {
	if t.found {
		return string(t.held)
	}
	if len(t.held) > 0 {
		t.next.Write(t.held)
	}
	return ""
}

// folder returns where commands run, in the root and on the disk. Where the folder of the last
// command went away it is the root again.
func (l *Local) folder() (rel, dir string) {
	l.mu.Lock()
	rel = l.dir
	l.mu.Unlock()
	if rel == "" || rel == "." {
		return ".", l.o.Root
	}
	s, err := l.find(rel, toRead)
	if err != nil {
		return ".", l.o.Root
	}
	defer s.close()
	if s.info == nil || !s.info.IsDir() {
		return ".", l.o.Root
	}
	return s.rel, filepath.Join(l.o.Root, filepath.FromSlash(s.rel))
}

// move takes the folder in which a command ended, and says what that means for the next:
// a line for the model and a memo. Outside the root nothing stays.
func (l *Local) move(from, ended string) (said, memory string) {
	if ended == "" || !filepath.IsAbs(ended) {
		return "", ""
	}
	to := "."
	if s, err := l.find(ended, toRead); err == nil && !path.IsAbs(s.rel) {
		if s.info != nil && s.info.IsDir() {
			to = s.rel
		}
		s.close()
	} else {
		if err == nil {
			s.close() // the agent's /tmp
		}
		said = fmt.Sprintf("[the next command runs in the workspace again: %s is not in it]", text.Line(ended, 200))
	}
	l.mu.Lock()
	l.dir = to
	l.mu.Unlock()
	if to == from {
		return said, ""
	}
	said = cmp.Or(said, fmt.Sprintf("[the next command runs in %s]", folderPhrase(to)))
	b, err := json.Marshal(memo{Dir: to})
	if err != nil {
		return said, ""
	}
	return said, string(b)
}

// folderPhrase returns a folder in a sentence.
func folderPhrase(rel string) string {
	if rel == "." {
		return "the workspace folder"
	}
	return showPath(rel)
}
