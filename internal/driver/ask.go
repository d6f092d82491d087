package driver

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// asked puts what the program asks through our policy, and to a person. Meanwhile the program
// may tell other things.
func (r *turn) asked(ctx context.Context, u Update) {
	c := r.call(u.Call.ID)
	if c == nil || c.over {
		c = &call{id: r.kept(u.Call.ID)}
		r.calls = append(r.calls, c)
	}
	c.Call = merged(c.Call, u.Call)
	c.ID, c.asked = c.id, true
	r.writeCalls(ctx)
	if r.failed != nil {
		u.Reply(Cancel)
		return
	}
	specs, made := r.specs(c)
	r.asking.Go(func() {
		record, err := r.decide(ctx, specs, made)
		r.mu.Lock()
		defer r.mu.Unlock()
		c.record = record
		switch {
		case r.failed != nil || ctx.Err() != nil:
			u.Reply(Cancel)
		case err == nil:
			if record != nil && record.By == history.ByPerson { // a yes is durable before anything happens because of it
				m := r.about.meta()
				m.Command, m.CallID, m.Permission, m.Actor = history.PermitCommand, c.id, record, record.Actor
				if r.fail(r.write(ctx, history.Draft{Kind: history.Command, Meta: m})) {
					u.Reply(Cancel)
					return
				}
			}
			u.Reply(Allow)
		case fault.Is(err, fault.Denied):
			c.denied = true
			r.out.Denied++
			u.Reply(Refuse)
		default:
			r.fail(err)
			u.Reply(Cancel)
		}
	})
}

// decide puts all that a call does through our policy: each must be permitted. A person who says yes has
// seen the whole call.
func (r *turn) decide(ctx context.Context, specs []tool.Spec, made tool.Call) (record *history.Permission, err error) {
	for _, s := range specs {
		made.Name = s.Name
		if _, record, err = r.Guard.Decide(ctx, s, made); err != nil || record != nil && record.By == history.ByPerson {
			break
		}
	}
	return record, err
}

// merged is a call with what is told of it anew.
func merged(was, now Call) Call {
	now.Title, now.Tool, now.Kind = cmp.Or(now.Title, was.Title), cmp.Or(now.Tool, was.Tool), cmp.Or(now.Kind, was.Kind)
	now.Status, now.Output = cmp.Or(now.Status, was.Status), cmp.Or(now.Output, was.Output)
	if now.Input == nil {
		now.Input = was.Input
	}
	if now.Diffs == nil {
		now.Diffs = was.Diffs
	}
	if now.Images == nil {
		now.Images = was.Images
	}
	if now.Paths == nil {
		now.Paths = was.Paths
	}
	return now
}

// specs are a call as our policy judges it: as the tool of ours that does the same, inside the
// agent's folder; all else as a tool of a server of the driver's name, driver-NAME. One that changes
// several files is one of each.
func (r *turn) specs(c *call) ([]tool.Spec, tool.Call) {
	made := tool.Call{Agent: r.Agent, ID: c.id, Args: json.RawMessage("{}"), Output: func([]byte) {}, Model: llm.Model{}}
	if json.Valid(c.Input) { // a person who is asked sees all of it
		made.Args = c.Input
	}
	line := c.line()
	s := tool.Spec{Summary: func(json.RawMessage) string { return line }}
	subject := func(text string) func(json.RawMessage) string {
		return func(json.RawMessage) string { return text }
	}
	within, inside := r.within(c.paths())
	reads := c.Kind == "read" || c.Kind == "search" || c.Kind == "think"
	command := c.command()
	if reads {
		command = c.hiddenCommand()
	}
	switch {
	case command != "":
		s.Summary = subject(command)
		s.Name, s.Access, s.Subject = "bash", tool.Commands, subject(command)
		if !r.about.Boxed {
			s.Outside = subject(r.about.Driver + " runs it itself, and not in the box")
		}
	case ownTool().MatchString(cmp.Or(c.Tool, c.Title)) && c.name() == "other":
		s.Name, s.Access = cmp.Or(c.Tool, c.Title), tool.Processes
	case reads && inside:
		s.Name, s.Access = "read", tool.Reads
	case c.Kind == "edit" && inside && len(within) > 0:
		specs := make([]tool.Spec, len(within))
		for i, path := range within {
			specs[i] = tool.Spec{Name: "edit", Access: tool.Writes, Subject: subject(path), Summary: s.Summary}
			if len(within) > 1 { // what the program says may be about one of them
				specs[i].Summary = subject(line + " (" + strings.Join(within, ", ") + ")")
			}
		}
		return specs, made
	case c.Kind == "fetch" && c.host() != "":
		s.Name, s.Access, s.Subject = "fetch", tool.Fetches, subject(c.host())
	default:
		s.Name, s.Access = "driver-"+r.about.Driver+"__"+c.name(), tool.Servers
	}
	return []tool.Spec{s}, made
}

// ownTool is a tool of ramet's own server, as programs name it: it acts on agents, within
// descent and budget, as for our own agents.
var ownTool = text.Regexp(`^(mcp__)?ramet(__|_|/|\.)[a-z]+$`)

// paths are the files that a call is about.
func (c *call) paths() []string {
	out := append([]string(nil), c.Paths...)
	for _, d := range c.Diffs {
		out = append(out, d.Path)
	}
	for _, key := range []string{"file_path", "path", "filePath", "notebook_path", "abs_path", "absolute_path"} {
		var p string
		if json.Unmarshal(c.member(key), &p) == nil && p != "" {
			out = append(out, p)
		}
	}
	return out
}

// within is the paths, relative to the agent's folder, each once; false: one leaves it.
func (r *turn) within(paths []string) ([]string, bool) {
	var out []string
	root, err := filepath.EvalSymlinks(r.root)
	if err != nil {
		return nil, false
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(root, p)
		}
		rel, err := filepath.Rel(root, sandbox.RealPath(filepath.Clean(p)))
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return nil, false
		}
		if rel = filepath.ToSlash(rel); !slices.Contains(out, rel) {
			out = append(out, rel)
		}
	}
	return out, true
}

// host is where a call fetches from.
func (c *call) host() string {
	var address string
	if json.Unmarshal(c.member("url"), &address) != nil {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
