package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/jsonschema"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
)

// mostNotes limits the notes of a list; a bad server would have as many as tools.
const mostNotes = 20

// listTools asks a server for its tools.
func listTools(ctx context.Context, s Server, session *sdk.ClientSession) (List, error) {
	out := List{Server: s.Name, Fingerprint: s.Fingerprint(), At: time.Now().UTC(), Tools: []Definition{}}
	taken := map[string]bool{}
	left := 0
	note := func(format string, args ...any) {
		if len(out.Notes) < mostNotes {
			out.Notes = append(out.Notes, text.Line(fmt.Sprintf(format, args...), 300))
		} else {
			left++
		}
	}
	init := session.InitializeResult()
	if init == nil || init.Capabilities == nil {
		return out, nil
	}
	out.Resources = init.Capabilities.Resources != nil
	if init.Capabilities.Prompts != nil {
		found, err := listPrompts(ctx, session)
		if err != nil {
			return out, err
		}
		out.Prompts = found
	}
	if init.Capabilities.Tools == nil {
		return out, nil // it has none, and some that are asked all the same never answer
	}
	params, seen := &sdk.ListToolsParams{}, 0
	for pages := 0; ; pages++ {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return out, err
		}
		for _, t := range page.Tools {
			if seen++; seen > MostTools {
				break
			}
			if t == nil || t.Name == "" {
				note("a tool without a name is left out")
				continue
			}
			schema, what, err := schemaOf(t.InputSchema)
			if err != nil {
				note("tool %q is left out: %v", t.Name, err)
				continue
			}
			if what != "" {
				note("tool %q: %s", t.Name, what)
			}
			if seen := text.Strings(schema, trust.Reveal); !bytes.Equal(seen, schema) || trust.Reveal(t.Name) != t.Name {
				note("tool %q: it has invisible characters, which are spelled out", t.Name)
				schema = seen
			}
			d := Definition{Name: toolName(s.Name, t.Name, taken), Tool: t.Name, Title: text.Line(trust.Reveal(t.Title), 200), Description: boundText(t.Description, mostText), Schema: schema}
			if t.Annotations != nil {
				d.ReadOnly = t.Annotations.ReadOnlyHint
			}
			out.Tools = append(out.Tools, d)
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" || seen > MostTools || pages > MostTools {
			break
		}
	}
	if seen > MostTools {
		note("it has more than %d tools; the others are left out", MostTools)
	}
	if left > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("and %s more", text.Count(left, "note")))
	}
	return out, nil
}

// toolName returns a tool's name as models call it: server__tool, a word of at most 64 characters that
// no other has.
func toolName(server, tool string, taken map[string]bool) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, tool)
	out := server + "__" + word
	if len(out) > 64 || taken[out] || word != tool {
		sum := sha256.Sum256([]byte(tool))
		mark := "_" + hex.EncodeToString(sum[:3])
		for n := 0; ; n++ {
			if n > 0 {
				mark = fmt.Sprintf("_%s_%d", hex.EncodeToString(sum[:3]), n)
			}
			full := server + "__" + word
			out = full[:min(len(full), 64-len(mark))] + mark
			if !taken[out] {
				break
			}
		}
	}
	taken[out] = true
	return out
}

// boundText returns a text of a server with invisible characters spelled out, cut to at most so many bytes.
func boundText(s string, most int) string {
	s = trust.Reveal(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD"))
	if len(s) <= most {
		return s
	}
	return text.Head(s, most) + "…"
}

// digestOf identifies a definition of a server's tool: how the server is reached, and all that a model
// reads of the tool. Variables and headers are left out, because keys in them change.
func digestOf(s Server, about ...any) string {
	raw, _ := json.Marshal([]any{1, s.Name, s.Command, cmp.Or(s.Shown, s.URL), s.Project, about}) // of texts
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// addDigests sets the digest of each tool, and the one under which it was first seen: before is the
// list that was known until now, which is empty if the server was never asked.
func addDigests(s Server, before List, tools []Definition) {
	seen := map[string]string{}
	for _, d := range before.Tools {
		seen[d.Tool] = cmp.Or(d.First, d.Digest)
	}
	for i := range tools {
		d := &tools[i]
		d.Digest = digestOf(s, d.Tool, d.Title, d.Description, d.Schema, d.ReadOnly)
		switch first := seen[d.Tool]; {
		case before.Fingerprint == "":
			d.First = d.Digest
		case first == "":
			d.First = addedLater
		default:
			d.First = first
		}
	}
}

// addedLater is the First of a tool that the server did not have when it was first asked.
const addedLater = "later"

// Changed describes how a tool differs from what was first seen of its server; empty if it does not.
func (d Definition) Changed() string {
	switch d.First {
	case "", d.Digest:
		return ""
	case addedLater:
		return "its server added it later"
	}
	return "its description or arguments changed since it was first seen"
}

// unproven returns why a rule by name alone does not permit a tool of a server; empty if it does.
func (s Server) unproven(d Definition) string {
	if s.Project {
		return "a project's server can take any name"
	}
	return d.Changed()
}

// Accept makes the tools of a server, as they are now, those that rules by name permit.
func (p *Pool) Accept(name string) error {
	h, err := p.holder(name)
	if err != nil {
		return err
	}
	l, ok := p.Known(name)
	if !ok {
		return nil // they are taken as they are when the server is first asked
	}
	for i := range l.Tools {
		l.Tools[i].First = l.Tools[i].Digest
	}
	p.mu.Lock()
	p.lists[name] = l
	p.mu.Unlock()
	p.keep(h.server, l)
	return nil
}

// Address returns where a service is, for people: as it is configured, without what stands before its host and
// behind its path. Keys stand there.
func (s Server) Address() string {
	shown := cmp.Or(s.Shown, s.URL)
	shown, _, cut := strings.Cut(shown, "?")
	if scheme, rest, ok := strings.Cut(shown, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		host = host[strings.LastIndexByte(host, '@')+1:]
		shown = strings.TrimSuffix(scheme+"://"+host+"/"+path, "/")
	}
	if cut {
		shown += "?…"
	}
	return shown
}

// says returns what an error says, with the address for people instead of the one that was asked.
func (s Server) says(err error) string {
	out := err.Error()
	if u, wrong := url.Parse(s.URL); s.URL != "" && wrong == nil {
		forms := []string{s.URL, u.String(), u.Redacted()}
		if u.User != nil { // as errors of HTTP write it
			forms = append(forms, strings.Replace(u.String(), u.User.String()+"@", u.User.Username()+":***@", 1))
		}
		for _, form := range forms {
			out = strings.ReplaceAll(out, form, s.Address())
		}
		if u.RawQuery != "" {
			out = strings.ReplaceAll(out, u.RawQuery, "…")
		}
	}
	return text.Line(trust.Reveal(out), 300)
}

// Known returns what is remembered of a server's tools, without asking it.
func (p *Pool) Known(name string) (List, bool) {
	h, err := p.holder(name)
	if err != nil {
		return List{}, false
	}
	p.mu.Lock()
	l, ok := p.lists[name]
	p.mu.Unlock()
	if ok {
		return l, true
	}
	return p.kept(h.server)
}

// Ask asks a server for its tools, and remembers them.
func (p *Pool) Ask(ctx context.Context, name string) (List, error) {
	h, err := p.holder(name)
	if err != nil {
		return List{}, err
	}
	c, give, err := p.take(ctx, h)
	if err != nil {
		return List{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	h.mu.Lock()
	h.stale = false
	h.mu.Unlock()
	l, err := listTools(ctx, h.server, c.session)
	give(err != nil)
	if err != nil {
		return List{}, c.failure(ctx, h.server, err)
	}
	before, _ := p.Known(name)
	addDigests(h.server, before, l.Tools)
	p.mu.Lock()
	p.lists[name] = l
	p.mu.Unlock()
	p.keep(h.server, l)
	return l, nil
}

// Lists returns the tools of all servers. Those of whom nothing is known are asked, side by side
// and for at most so long; why are the ones of which nothing is known then.
func (p *Pool) Lists(ctx context.Context, patience time.Duration) (lists []List, why []string) {
	p.begin()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, failed := make([]*List, len(p.Servers)), make([]string, len(p.Servers))
	var work sync.WaitGroup
	for i, s := range p.Servers {
		if s.Why != "" {
			continue
		}
		if l, ok := p.Known(s.Name); ok && !p.isStale(s.Name) {
			found[i] = &l
			continue
		}
		work.Go(func() {
			l, err := p.Ask(ctx, s.Name)
			if err != nil {
				failed[i] = fmt.Sprintf("MCP server %s is not used in this turn: %v", s.Name, err)
				return
			}
			found[i] = &l
		})
	}
	work.Wait()
	for i := range found {
		if found[i] != nil {
			lists = append(lists, *found[i])
		}
	}
	return lists, slices.DeleteFunc(failed, func(s string) bool { return s == "" })
}

func (p *Pool) isStale(name string) bool {
	h := p.held[name]
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stale
}

// mostDepth limits how deep a schema may be nested, references followed.
const mostDepth = 40

// schemaOf makes a schema one that every vendor takes: an object that says so, with its
// references put in place. What cannot be referred to, and what refers to itself, becomes
// anything, and the note says so. One that is too long is refused.
func schemaOf(given any) (schema json.RawMessage, note string, err error) {
	top, ok := given.(map[string]any)
	if !ok {
		if given != nil {
			note = "its schema is not an object, so it takes any arguments"
		}
		return json.RawMessage(`{"type":"object"}`), note, nil
	}
	if raw, err := json.Marshal(top); err != nil || len(raw) > mostSchema {
		return nil, "", fmt.Errorf("its schema has %d bytes, more than %d", len(raw), mostSchema)
	}
	r := resolver{root: top, left: mostSchema}
	out, _ := r.value(top, nil, 0).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	delete(out, "$defs")
	delete(out, "definitions")
	delete(out, "$schema")
	delete(out, "$id")
	out["type"] = "object"
	if _, ok := out["properties"].(map[string]any); !ok {
		delete(out, "properties")
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, "", err
	}
	if r.left < 0 || len(raw) > mostSchema {
		return nil, "", fmt.Errorf("its schema has more than %d bytes with its references in place", mostSchema)
	}
	return raw, strings.Join(slices.Sorted(maps.Keys(r.notes)), "; "), nil
}

// resolver puts references in place.
type resolver struct {
	root  map[string]any
	left  int // bytes that may still be put in place, about
	notes map[string]bool
}

func (r *resolver) note(what string) {
	if r.notes == nil {
		r.notes = map[string]bool{}
	}
	r.notes[what] = true
}

func (r *resolver) value(v any, on []string, depth int) any {
	if depth > mostDepth {
		r.note("its schema is nested too deep, and cut there")
		return map[string]any{}
	}
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return r.reference(v, ref, on, depth)
		}
		out := make(map[string]any, len(v))
		for key, one := range v {
			if depth == 0 && (key == "$defs" || key == "definitions") {
				continue
			}
			r.left -= len(key) + 4
			if r.left < 0 {
				return map[string]any{}
			}
			out[key] = r.value(one, on, depth+1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = r.value(one, on, depth+1)
		}
		return out
	case string:
		r.left -= len(v)
	}
	return v
}

// reference returns what a $ref stands for, with what stands beside it.
func (r *resolver) reference(v map[string]any, ref string, on []string, depth int) any {
	beside := maps.Clone(v)
	delete(beside, "$ref")
	target, ok := jsonschema.Find(r.root, ref)
	switch {
	case !ok:
		r.note("its schema refers to " + fmt.Sprintf("%.80q", ref) + ", which is not in it: anything is taken there")
		target = map[string]any{}
	case slices.Contains(on, ref):
		r.note("its schema refers to itself: anything is taken there")
		target = map[string]any{}
	}
	out, isObject := r.value(target, append(slices.Clip(on), ref), depth+1).(map[string]any)
	if !isObject {
		return map[string]any{}
	}
	for key, one := range beside {
		out[key] = r.value(one, on, depth+1)
	}
	return out
}
