package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"

	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/turn/tool"
)

// More tools than these are not told of all at once.
const (
	mostOffered = 40
	bestFound   = 5
)

// Box returns the tools of lists, for one agent. If there are many, or their definitions have more
// than so many bytes (0: any number), the model gets one tool with which it finds them.
func (p *Pool) Box(lists []List, most int) tool.Box {
	var all tool.Box
	size := 0
	for _, l := range lists {
		var from Server
		if h, err := p.holder(l.Server); err == nil {
			from = h.server
		}
		for _, d := range l.Tools {
			all = append(all, remote{p, l.Server, d, from.unproven(d)})
			size += len(d.Name) + len(d.Description) + len(d.Schema)
		}
	}
	var reading tool.Box
	for _, l := range lists {
		reading = append(reading, p.libraries(l)...)
	}
	if len(all) <= mostOffered && (most <= 0 || size <= most) {
		return append(all, reading...)
	}
	return append(tool.Box{newFinder(all)}, reading...)
}

// finder is the tool that finds others.
type finder struct {
	all   tool.Box
	index []words

	mu   sync.Mutex
	open []string // names, in the order in which they were found; guarded by mu
}

func newFinder(all tool.Box) *finder {
	f := &finder{all: all}
	for _, t := range all {
		f.index = append(f.index, wordsOf(t.(remote)))
	}
	return f
}

type found struct {
	Tools []string `json:"mcp_tools"`
}

func (f *finder) Spec() tool.Spec {
	servers := map[string]int{}
	var names []string
	for _, t := range f.all {
		s := t.(remote).server
		if servers[s]++; servers[s] == 1 {
			names = append(names, s)
		}
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", n, servers[n])
	}
	s := tool.Describe("find_tools", tool.Spec{Args: shape.Object(shape.Must("query", shape.Text(1).With("what the tool should do, in a few words")))})
	s.Description += " There are " + text.Count(len(f.all), "tool") + ", of: " + strings.Join(names, ", ") + "."
	return s
}

func (f *finder) Run(_ context.Context, c tool.Call) (tool.Answer, error) {
	var args struct{ Query string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Failed("The arguments are wrong."), nil
	}
	best := f.best(args.Query)
	if len(best) == 0 {
		return tool.Answer{Text: "No tool fits. Say it in other words, or name a server.", IsError: true}, nil
	}
	var lines []string
	var names found
	for _, t := range best {
		names.Tools = append(names.Tools, t.Name)
		lines = append(lines, fmt.Sprintf("%s: %s", t.Name, text.Line(t.Description, 200)))
	}
	f.add(names.Tools)
	memo, err := json.Marshal(names)
	return tool.Answer{Text: "You have these tools from now on:\n" + strings.Join(lines, "\n"), Memo: string(memo)}, err
}

// Recall implements tool.Memory.
func (f *finder) Recall(memos iter.Seq[json.RawMessage]) {
	f.mu.Lock()
	f.open = nil
	f.mu.Unlock()
	for raw := range memos {
		var m found
		if json.Unmarshal(raw, &m) == nil {
			f.add(m.Tools)
		}
	}
}

func (f *finder) add(names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range names {
		if !slices.Contains(f.open, n) {
			f.open = append(f.open, n)
		}
	}
}

// Opened implements tool.Chest.
func (f *finder) Opened() tool.Box {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out tool.Box
	for _, n := range f.open {
		if i := slices.IndexFunc(f.all, func(t tool.Tool) bool { return t.(remote).Name == n }); i >= 0 {
			out = append(out, f.all[i])
		}
	}
	return out
}

// words are those of a tool, and how much each says about it.
type words map[string]float64

// wordsOf weighs the words of a tool: those of its name most, then title and description,
// then the names of its arguments.
func wordsOf(r remote) words {
	out := words{}
	add := func(s string, weight float64) {
		for _, w := range splitWords(s) {
			out[w] = max(out[w], weight)
		}
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(r.Schema, &schema) == nil {
		for name := range schema.Properties {
			add(name, 0.5)
		}
	}
	add(r.Description, 1)
	add(r.Title, 2)
	add(r.server, 2)
	add(r.Tool, 3)
	return out
}

// splitWords returns a text in words as they are compared: small letters, camel case apart, without the
// endings of English plurals.
func splitWords(s string) []string {
	var b strings.Builder
	var last rune
	for _, r := range s {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		} else {
			b.WriteByte(' ')
		}
		last = r
	}
	out := strings.Fields(b.String())
	for i, w := range out {
		if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			out[i] = strings.TrimSuffix(w, "s")
		}
	}
	return out
}

// best returns the tools that fit a query best. A word that many tools have says little.
func (f *finder) best(query string) []remote {
	asked := splitWords(query)
	rare := map[string]float64{}
	for _, w := range asked {
		n := 0
		for _, ws := range f.index {
			if ws[w] > 0 {
				n++
			}
		}
		if n > 0 {
			rare[w] = math.Log(1 + float64(len(f.index))/float64(n))
		}
	}
	type scored struct {
		at    int
		score float64
	}
	var all []scored
	for i, ws := range f.index {
		score := 0.0
		for w, weight := range rare {
			score += weight * ws[w]
		}
		if score > 0 {
			all = append(all, scored{i, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []remote
	for _, s := range all[:min(len(all), bestFound)] {
		out = append(out, f.all[s.at].(remote))
	}
	return out
}
