package driver

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"ramet/internal/history"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/text"
)

// settleTime is how long a call that was announced may still change before it is written.
const settleTime = 300 * time.Millisecond

// call is one of the program's calls, as far as the history knows it.
type call struct {
	Call
	id      string // as the history has it
	since   time.Time
	written bool
	over    bool // its result is written
	denied  bool
	record  *history.Permission
	end     func() // of what it may write
}

// called takes a call as it is now.
func (r *turn) called(ctx context.Context, now Call) {
	c := r.call(now.ID)
	if c == nil {
		c = &call{id: r.kept(now.ID), since: time.Now()}
		r.calls = append(r.calls, c)
	}
	if c.over {
		return // it was answered already
	}
	was := c.Status
	c.Call = now
	if c.ID = c.id; !c.written && was == Pending && now.Status == Pending {
		c.since = time.Now()
	}
	if now.Status.Ended() || now.Status == Running && len(now.Input) > 2 {
		r.writeCalls(ctx)
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
		if !c.written && time.Since(c.since) >= settleTime {
			r.writeCalls(ctx)
			return
		}
	}
}

// writeCalls writes the calls that are not written yet, in one message with what was said
// before them.
func (r *turn) writeCalls(ctx context.Context) {
	var fresh []*call
	for _, c := range r.calls {
		if !c.written {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == 0 {
		return
	}
	r.speak(ctx, false, fresh...)
	for _, c := range fresh {
		if c.mayWrite() {
			c.end = r.files.begin(r.Turn)
		}
	}
}

// answer writes the result of a call.
func (r *turn) answer(ctx context.Context, c *call) {
	p := history.Part{Type: history.Result, CallID: c.id, Name: c.name(), IsError: c.Status == Failed}
	p.Text = short(r.kept(c.Output), mostResult)
	if diff := r.diff(c); diff != "" {
		p.Show = short(r.kept(diff), mostShow)
		if p.Text == "" {
			p.Text = p.Show
		}
	}
	if p.Text == "" {
		p.Text = string(c.Status)
	}
	r.result(ctx, c, append([]history.Part{p}, images(c.Images)...)...)
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
	if r.fail(r.write(ctx, history.Draft{Kind: history.ToolResult, Meta: m, Parts: parts})) {
		return
	}
	switch {
	case c.denied:
	case !p.IsError:
		r.out.Worked++
	}
	people := p.Show
	if people == "" {
		people = short(p.Text, mostShow)
	}
	r.Emit(loop.Event{Type: loop.CallEnded, Agent: r.Agent, CallID: c.id, Tool: c.name(), Text: people, IsError: p.IsError})
	for _, o := range r.calls {
		if o.written && !o.over {
			return
		}
	}
	r.release()
}

// closeCalls answers what the program left open.
func (r *turn) closeCalls(ctx context.Context, why error) {
	for _, c := range r.calls {
		if r.failed != nil {
			return
		}
		if !c.written {
			r.writeCalls(ctx)
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
	switch c.Kind {
	case "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode":
		return c.Kind
	}
	return "other"
}

// command is the command line that would be run; empty: none is.
func (c *call) command() string {
	if c.Kind != "execute" && c.Kind != "" && c.Kind != "other" {
		return ""
	}
	var input struct {
		Command json.RawMessage `json:"command"`
	}
	if json.Unmarshal(c.Input, &input) != nil {
		return ""
	}
	var line string
	if json.Unmarshal(input.Command, &line) == nil {
		return line
	}
	var words []string
	if json.Unmarshal(input.Command, &words) != nil || len(words) == 0 {
		return ""
	}
	if n := len(words); n == 3 && (words[1] == "-lc" || words[1] == "-c") { // a shell's
		return words[2]
	}
	return quote(words)
}

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
		raw, _ = json.Marshal(map[string]any{"kind": c.Kind, "title": short(c.Title, 400)})
	}
	return history.Part{Type: history.ToolCall, CallID: c.id, Name: c.name(), Args: text.Strings(raw, kept)}
}
