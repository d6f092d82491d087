package driver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	udiff "github.com/aymanbagabas/go-udiff"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/toolinfo"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// settleTime is how long a call of which nobody tells what it is about may still change before it is
// written as it is.
const settleTime = 300 * time.Millisecond

// call is one of the program's calls, as far as the history knows it.
type call struct {
	Call
	id      string // as the history has it
	since   time.Time
	told    int  // how often the program told of it
	asked   bool // it waits for permission, or did
	written bool
	said    string // what the history has been told that it does
	printed text.EndsBuffer
	over    bool // its result is written
	denied  bool
	record  *history.Permission
	end     func() // of what it may write
}

// ready says whether the call is to be written now. It must stand in the history before it does
// anything: so as soon as it is told what it does, or that it does it. What is only announced waits
// for that, however long the program's model writes at it.
func (c *call) ready() bool { return c.Status != Pending || c.asked || c.tells() }

// tells says whether it is known what the call does.
func (c *call) tells() bool {
	if c.Kind == "execute" { // a folder alone is none
		return c.command() != ""
	}
	return len(c.Input) > len("{}")
}

// does is what the call does, as far as that is told; empty: it is not.
func (c *call) does() string {
	if !c.tells() {
		return ""
	}
	return cmp.Or(c.command(), string(c.Input))
}

// settled says whether a call that tells nothing is not going to: its program never does, or told
// of it again without.
func (c *call) settled() bool {
	return (c.Input == nil || c.told > 1) && time.Since(c.since) >= settleTime
}

// called takes a call as it is now, and what it printed since.
func (r *turn) called(ctx context.Context, now Call, printed string) {
	c := r.call(now.ID)
	if c == nil {
		c = &call{id: r.kept(now.ID), since: time.Now()}
		r.calls = append(r.calls, c)
	}
	if c.over {
		return // it was answered already
	}
	c.Call, c.ID = now, c.id
	c.since = time.Now()
	if c.told++; c.ready() {
		r.writeCalls(ctx)
	}
	c.printed.Head, c.printed.Tail = mostHead, mostTail
	if io.WriteString(&c.printed, printed); printed != "" && c.written && r.failed == nil {
		r.Emit(loop.Event{Type: loop.CallOutput, Agent: r.Agent, CallID: c.id, Tool: c.name(), Text: r.kept(printed)})
	}
	if now.Status.Ended() {
		r.answer(ctx, c)
	}
}

func (r *turn) call(id string) *call {
	for i := len(r.calls) - 1; i >= 0; i-- {
		if r.calls[i].ID == id || r.calls[i].id == id {
			return r.calls[i]
		}
	}
	return nil
}

// settleCalls writes calls that do not change any more.
func (r *turn) settleCalls(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.failed != nil {
		return
	}
	for _, c := range r.calls {
		if !c.written && c.settled() {
			r.writeCalls(ctx)
			return
		}
	}
}

// writeCalls writes the calls that are not written yet, in one message with what was said
// before them. One that is only announced waits, unless all must be written.
func (r *turn) writeCalls(ctx context.Context) {
	r.writeThose(ctx, func(c *call) bool { return c.ready() || c.settled() })
}

func (r *turn) writeThose(ctx context.Context, which func(*call) bool) {
	var fresh []*call
	for _, c := range r.calls {
		if !c.written && which(c) {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == 0 {
		return
	}
	r.speak(ctx, false, fresh...)
	for _, c := range fresh {
		c.said = c.does()
		if c.mayWrite() {
			c.end = r.files.begin(r.Turn)
		}
	}
}

// corrected writes what a call did, where the history was told otherwise, or nothing.
func (r *turn) corrected(ctx context.Context, c *call) {
	now := c.does()
	if now == "" || now == c.said || c.said != "" && c.command() == "" { // what a program adds to its input is not another
		return
	}
	m := r.about.meta()
	m.CallID = c.id
	r.fail(r.write(ctx, history.Draft{Kind: history.Note, Meta: m, Parts: []history.Part{{Type: history.Text, Text: "the call was repeated: " + text.Middle(r.kept(now), mostShow)}}}))
}

// answer writes the result of a call.
func (r *turn) answer(ctx context.Context, c *call) {
	if r.corrected(ctx, c); r.failed != nil {
		return
	}
	p := history.Part{Type: history.Result, CallID: c.id, Name: c.name(), IsError: c.Status == Failed}
	p.Text = text.Middle(r.kept(cmp.Or(c.Output, printedText(&c.printed))), mostResult)
	if diff := r.diff(c); diff != "" {
		p.Show = text.Middle(r.kept(diff), mostShow)
		p.Text = cmp.Or(p.Text, p.Show)
	}
	p.Text = cmp.Or(p.Text, string(c.Status))
	r.result(ctx, c, append([]history.Part{p}, images(c.Images)...)...)
}

// What is kept of what a call prints as it comes.
const (
	mostHead = 192 << 10
	mostTail = 48 << 10
)

// printedText returns what is kept of what a call printed.
func printedText(kept *text.EndsBuffer) string {
	first, last, missing := kept.Kept()
	if missing > 0 {
		return string(first) + "\n[what was printed in between is left out]\n" + string(last)
	}
	return string(first) + string(last)
}

// images are those that a call gave back.
func images(all []llm.Part) []history.Part {
	var out []history.Part
	size := 0
	for _, i := range all {
		if size += len(i.Data); size > mostText {
			break
		}
		out = append(out, history.Part{Type: history.PartType(i.Type), MediaType: i.MediaType, Data: i.Data})
	}
	return out
}

// result writes what came of a call, and tells of it.
func (r *turn) result(ctx context.Context, c *call, parts ...history.Part) {
	p := parts[0]
	m := r.about.meta()
	m.Permission = c.record
	if c.end != nil {
		c.end()
		c.end = nil
	}
	c.over = true
	if r.fail(r.write(ctx, append(r.foreign(c), history.Draft{Kind: history.ToolResult, Meta: m, Parts: parts})...)) {
		return
	}
	switch {
	case c.denied:
	case !p.IsError:
		r.out.Worked++
	}
	people := cmp.Or(p.Show, text.Middle(p.Text, mostShow))
	r.Emit(loop.Event{Type: loop.CallEnded, Agent: r.Agent, CallID: c.id, Tool: c.name(), Text: people, IsError: p.IsError})
	for _, o := range r.calls {
		if o.written && !o.over {
			return
		}
	}
	r.release()
}

// foreign drafts the mark of an agent whose program took in content that neither the user nor the project wrote, as far as
// the program tells: pages, tools of servers, files outside of its folder.
func (r *turn) foreign(c *call) []history.Draft {
	from := ""
	server := strings.Split(strings.TrimPrefix(c.Tool, "mcp__"), "__")
	paths := c.paths()
	_, inside := r.within(paths)
	switch {
	case c.denied || ownTool().MatchString(cmp.Or(c.Tool, c.Title)):
	case c.Kind == "fetch":
		from = cmp.Or(c.host(), "web search")
	case strings.HasPrefix(c.Tool, "mcp__") && len(server) > 1:
		from = "mcp:" + server[0]
	case c.Kind == "read" && len(paths) > 0 && !inside:
		from = "file " + paths[0]
	}
	if from = r.kept(from); from == "" || slices.Contains(r.sources, from) {
		return nil
	}
	r.sources = append(r.sources, from)
	return []history.Draft{history.NewForeign(from)}
}

// closeCalls answers what the program left open.
func (r *turn) closeCalls(ctx context.Context, why error) {
	for _, c := range r.calls {
		if r.failed != nil {
			return
		}
		if !c.written {
			r.writeThose(ctx, func(*call) bool { return true })
		}
		if c.over || r.failed != nil {
			continue
		}
		said := "the program ended its turn without telling what came of it"
		if why != nil {
			said = "interrupted: outcome unknown"
		}
		r.result(ctx, c, history.Part{Type: history.Result, CallID: c.id, Name: c.name(), IsError: why != nil, Text: said})
	}
}

// hold keeps forks from coming between calls and their results.
func (r *turn) hold(ctx context.Context) {
	if r.acting != nil || r.Acting == nil {
		return
	}
	// Forks take a moment; who stops meanwhile stops the turn.
	if release, err := r.Acting(ctx); err == nil {
		r.acting = release
	}
}

func (r *turn) release() {
	if r.acting != nil {
		r.acting()
		r.acting = nil
	}
}

// name is what the call is called in the history: our own tool's where it does the same.
func (c *call) name() string {
	if c.command() != "" {
		return "bash"
	}
	if slices.Contains(toolinfo.Kinds(), c.Kind) {
		return c.Kind
	}
	return "other"
}

// command is the command line that would be run; empty: none is.
func (c *call) command() string {
	if c.Kind != "execute" && c.Kind != "" && c.Kind != "other" {
		return ""
	}
	line, _ := c.inputLine()
	return line
}

// hiddenCommand is the command line of a call that the program takes for mere reading; empty: it has
// none. One word alone is what an editor's tool calls its own verbs.
func (c *call) hiddenCommand() string {
	line, words := c.inputLine()
	if !words && !strings.ContainsFunc(line, unicode.IsSpace) {
		return ""
	}
	return line
}

// inputLine is the command line in a call's input; words says that it was told as a list of words.
func (c *call) inputLine() (line string, words bool) {
	told := c.member("command")
	if json.Unmarshal(told, &line) == nil {
		return line, false
	}
	var list []string
	if json.Unmarshal(told, &list) != nil || len(list) == 0 {
		return "", false
	}
	if len(list) == 3 && (list[1] == "-lc" || list[1] == "-c") && shells().MatchString(list[0]) {
		return list[2], true
	}
	return quote(list), true
}

// member is what a call's input has under exactly this name. A struct would take "Command" for "command",
// and a model could have one judged and the other run.
func (c *call) member(name string) json.RawMessage {
	var input map[string]json.RawMessage
	if json.Unmarshal(c.Input, &input) != nil {
		return nil
	}
	return input[name]
}

// shells are the programs whose -c is a command line; that of others is something else.
var shells = text.Regexp(`^(.*/)?(ba|da|z|k|mk|a|fi)?sh$`)

// quote is a command line of words, as a shell reads it.
func quote(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-", r)
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out[i] = w
	}
	return strings.Join(out, " ")
}

// line is one line for people about the call.
func (c *call) line() string {
	switch {
	case c.command() != "":
		return c.command()
	case c.Title != "":
		return c.Title
	case len(c.Paths) > 0:
		return strings.Join(c.Paths, " ")
	}
	return c.Kind
}

// mayWrite says whether the call can change files.
func (c *call) mayWrite() bool {
	switch c.Kind {
	case "read", "search", "think", "fetch":
		return false
	}
	return true
}

// part is the call as the history has it.
func (c *call) part(kept func(string) string) history.Part {
	args := map[string]any{}
	if line := c.command(); line != "" {
		args["command"] = line
	} else {
		args["kind"] = c.Kind
		if raw := object(c.Input); raw != nil {
			args["input"] = raw
		}
		if len(c.Paths) > 0 {
			args["paths"] = c.Paths
		}
	}
	if c.Title != "" {
		args["title"] = c.Title
	}
	raw, err := json.Marshal(args)
	if err != nil || len(raw) > mostResult {
		raw, _ = json.Marshal(map[string]any{"kind": c.Kind, "title": text.Middle(c.Title, 400)})
	}
	return history.Part{Type: history.ToolCall, CallID: c.id, Name: c.name(), Args: text.Strings(raw, kept)}
}

const (
	mostDiffed = 1 << 20 // bytes of a change that are compared line by line
	mostRead   = 4 << 20 // of a file in which a piece is looked for
)

// diff shows what a call changed in files, as our own tools do.
func (r *turn) diff(c *call) string {
	var b strings.Builder
	for _, d := range c.Diffs {
		name := d.Path
		if rel, ok := r.within([]string{d.Path}); ok {
			name = rel[0]
		}
		if len(d.Old)+len(d.New) > mostDiffed {
			fmt.Fprintf(&b, "%s: %d bytes before, %d now\n", name, len(d.Old), len(d.New))
			continue
		}
		from, to := "a/"+name, "b/"+name
		if d.Old == "" {
			from = "/dev/null"
		}
		u, err := udiff.ToUnifiedDiff(from, to, d.Old, udiff.Lines(d.Old, d.New), udiff.DefaultContextLines)
		if err != nil {
			continue // of edits that another function made
		}
		if skip := r.begins(d) - 1; skip > 0 {
			for _, h := range u.Hunks {
				h.FromLine, h.ToLine = h.FromLine+skip, h.ToLine+skip
			}
		}
		b.WriteString(u.String())
	}
	return b.String()
}

// begins returns the line of its file at which a changed piece begins: as the program says, or where the
// piece is in the file now, if that is in the agent's folder and there is only one such place.
func (r *turn) begins(d Diff) int {
	whole, ok := r.content(d.Path)
	if !ok || d.New == "" {
		return max(d.Line, 1)
	}
	at := strings.Index(whole, d.New)
	if at < 0 || strings.Contains(whole[at+1:], d.New) || at > 0 && whole[at-1] != '\n' {
		return max(d.Line, 1)
	}
	return 1 + strings.Count(whole[:at], "\n")
}

// content returns the text of a file in the agent's folder.
func (r *turn) content(path string) (string, bool) {
	within, ok := r.within([]string{path})
	if !ok {
		return "", false
	}
	rel := within[0]
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return "", false
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(rel))
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostRead {
		return "", false
	}
	f, err := root.Open(filepath.FromSlash(rel))
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostRead))
	return string(data), err == nil
}
