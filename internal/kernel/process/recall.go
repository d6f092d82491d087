package process

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/turn/tool"
)

// RecallName is the tool's name.
const RecallName = "recall"

// MostRecalled limits an answer in bytes, unless the caller sets a limit.
const MostRecalled = 16 << 10

type recall struct {
	log  history.Log
	self id.Agent
	most int
}

// NewRecall is the tool of an agent. An answer has at most so many bytes; 0: Most.
func NewRecall(log history.Log, self id.Agent, most int) tool.Tool {
	if most <= 0 {
		most = MostRecalled
	}
	return recall{log, self, most}
}

type args struct {
	Range  string  `json:"range"`
	Query  string  `json:"query"`
	Offset float64 `json:"offset"`
}

var form = sync.OnceValue(func() *shape.Shape {
	return shape.Object(
		shape.May("range", shape.Text(0)),
		shape.May("query", shape.Text(0)),
		shape.May("offset", shape.Integer(0)).Untold(),
	)
})

// Spec implements tool.Tool.
func (r recall) Spec() tool.Spec {
	return tool.Describe(RecallName, tool.Spec{
		Args: form(),
		Summary: func(raw json.RawMessage) string {
			var a args
			json.Unmarshal(raw, &a)
			return strings.TrimSpace("recall " + a.Range + " " + a.Query)
		},
	})
}

// Run implements tool.Tool.
func (r recall) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	var a args
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return tool.Failed("The arguments are not readable."), nil
	}
	first, end, ok := parseRange(a.Range)
	if !ok {
		return tool.Failed(fmt.Sprintf("%.40q is not a range: write one entry (812) or two with a hyphen between them (800-850).", a.Range)), nil
	}
	ranges, err := history.BuildRanges(ctx, r.log, r.self)
	if err != nil {
		return tool.Answer{}, err
	}
	var out []history.Range
	for _, one := range ranges {
		cut := history.Range{Agent: one.Agent, Start: max(one.Start, first-1), End: one.End.Min(end)}
		if cut.End.Admits(cut.Start + 1) {
			out = append(out, cut)
		}
	}
	switch {
	case strings.TrimSpace(a.Query) != "":
		return r.search(ctx, out, a.Query)
	case a.Range != "":
		return r.read(ctx, out, int(a.Offset))
	}
	return tool.Failed("Say what to recall: a range of entries, or a query."), nil
}

// parseRange reads 812, 800-850, 800- and nothing, which is all.
func parseRange(s string) (first id.Message, end history.Bound, ok bool) {
	s = strings.NewReplacer(" ", "", "..", "-", "–", "-", "#", "").Replace(s)
	if s == "" {
		return 1, history.NoLimit, true
	}
	from, to, several := strings.Cut(s, "-")
	a, err := strconv.ParseInt(from, 10, 64)
	switch {
	case err != nil || a < 1:
		return 0, end, false
	case !several:
		return id.Message(a), history.UpTo(id.Message(a)), true
	case to == "":
		return id.Message(a), history.NoLimit, true
	}
	b, err := strconv.ParseInt(to, 10, 64)
	return id.Message(a), history.UpTo(id.Message(b)), err == nil && b >= a
}

// read shows entries, oldest first.
func (r recall) read(ctx context.Context, ranges []history.Range, offset int) (tool.Answer, error) {
	var b strings.Builder
	shown := 0
	for _, one := range ranges {
		for e, err := range r.log.QueryRange(ctx, one, history.Selection{}) {
			if err != nil {
				return tool.Answer{}, err
			}
			if !e.Kind.Reaches() {
				continue
			}
			said, _, err := r.text(ctx, e)
			if err != nil {
				return tool.Answer{}, err
			}
			head := heading(e) + ":\n"
			room := r.most - b.Len() - len(head) - 80
			if shown > 0 && len(said) > room {
				fmt.Fprintf(&b, "[there is more: range %d- continues]", e.ID)
				return tool.Answer{Text: b.String()}, nil
			}
			b.WriteString(head)
			if shown++; shown == 1 && offset > 0 {
				said = from(said, offset)
			} else if shown > 1 {
				offset = 0
			}
			if len(said) > room {
				part := upTo(said, max(room, 1))
				fmt.Fprintf(&b, "%s\n[there is more: range %d, offset %d continues]", part, e.ID, offset+len(part))
				return tool.Answer{Text: b.String()}, nil
			}
			b.WriteString(said + "\n\n")
		}
	}
	if shown == 0 {
		return tool.Failed("No entry of your history has such a number. A summary names the entries it replaces; `query` finds others."), nil
	}
	return tool.Answer{Text: strings.TrimRight(b.String(), "\n")}, nil
}

// page is the number of entries searched at once, and most limits the entries listed.
const (
	page           = 256
	mostHits       = 20
	recallMostRead = 64 << 20 // bytes that one call searches
	around         = 120      // bytes of a hit to either side
)

// search lists the newest entries that hold all words, newest first.
func (r recall) search(ctx context.Context, ranges []history.Range, query string) (tool.Answer, error) {
	words := strings.Fields(strings.ToLower(query))
	var b strings.Builder
	hits, read, searched := 0, 0, 0
	for _, one := range slices.Backward(ranges) {
		for more := true; more; {
			n, oldest := 0, id.Message(0)
			for e, err := range r.log.QueryRange(ctx, one, history.Selection{Newest: page}) {
				if err != nil {
					return tool.Answer{}, err
				}
				n, oldest = n+1, e.ID
				said, own, err := r.text(ctx, e)
				if err != nil {
					return tool.Answer{}, err
				}
				read, searched = read+len(said), searched+1
				at, ok := found(said, words)
				if own || !ok {
					continue
				}
				line := fmt.Sprintf("%s: %s\n", heading(e), text.Line(from(upTo(said, min(len(said), at+around)), max(0, at-around)), 2*around+40))
				if hits++; hits > mostHits || b.Len()+len(line)+120 > r.most || read > recallMostRead {
					fmt.Fprintf(&b, "[there may be more in entries before %d: give them as range 1-%d]", e.ID, e.ID)
					return tool.Answer{Text: b.String()}, nil
				}
				b.WriteString(line)
			}
			more = n == page && oldest > 1
			one.End = history.UpTo(oldest - 1)
		}
	}
	if hits == 0 {
		return tool.Answer{Text: fmt.Sprintf("No entry contains all of these words (%d searched).", searched)}, nil
	}
	return tool.Answer{Text: b.String() + "range shows an entry whole."}, nil
}

// found returns the position of the longest, and so rarest, of the words if all are in the text.
func found(said string, words []string) (int, bool) {
	lower, at, longest := strings.ToLower(said), 0, 0
	for _, w := range words {
		i := strings.Index(lower, w)
		if i < 0 {
			return 0, false
		}
		if len(w) > longest {
			longest, at = len(w), i
		}
	}
	return min(at, len(said)), true
}

// heading names an entry.
func heading(e history.Entry) string {
	return fmt.Sprintf("entry %d, %s", e.ID, strings.ReplaceAll(string(e.Kind), "_", " "))
}

// text returns the text of an entry; own reports whether this tool wrote it.
func (r recall) text(ctx context.Context, e history.Entry) (said string, own bool, err error) {
	parts, err := e.Parts()
	if err != nil {
		return "", false, err
	}
	if err := history.Fill(parts, func(h chain.Hash) ([]byte, error) { return r.log.Blob(ctx, h) }); err != nil {
		return "", false, err
	}
	own = slices.ContainsFunc(parts, func(p history.Part) bool { return p.Name == RecallName })
	return history.Plain(parts), own, nil
}

// from is a text without its first bytes, and upTo with only these; no letter is torn.
func from(s string, n int) string {
	n = min(n, len(s))
	for n < len(s) && s[n]&0xC0 == 0x80 {
		n++
	}
	return s[n:]
}

func upTo(s string, n int) string {
	n = min(n, len(s))
	for n > 0 && n < len(s) && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
