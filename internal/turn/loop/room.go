package loop

import (
	"fmt"
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// Room is made when the context fills Limits.Fill percent of the window, and then so much of
// it that a quarter of the window is free again: a request that grows does not meet the
// vendor's cache after that, so it must not happen often. Old results are shown in their
// short form; if that is not enough, the oldest part becomes a summary. What stays as it was
// are the newest messages, the assignment, and the user's words.
const (
	roomTarget = 55 // percent of the window that may be filled afterwards
	roomUrgent = 95 // percent from which on little room is better than none
	roomRounds = 12 // how often in a row
)

// measures bound what stays as it was, in bytes: each less than the one before, should that
// leave too little room.
type measures struct {
	newest int64 // of the newest messages
	words  int64 // of the user's words
	last   bool  // the results that the model has not read yet stay whatever their size
}

// plan describes how room is made.
type plan struct {
	from, to int          // the items that a summary replaces; the same: none
	keep     []id.Message // of these, what stays
	short    []id.Message // of all others, what is shown in its short form
	frees    int64        // bytes, about
}

// sketch is a conversation as a plan sees it.
type sketch struct {
	items []item
	from  int          // the first item that may be replaced
	sizes []int64      // of each item
	ends  []id.Message // before each item, the last message that it or a summary stands for
	task  id.Message   // the message that the turn answers; 0: none
}

func (r *turn) sketch() sketch {
	s := sketch{items: r.c.items(), task: r.task}
	for s.from < len(s.items) && s.items[s.from].kind == history.System {
		s.from++
	}
	s.sizes, s.ends = make([]int64, len(s.items)), make([]id.Message, len(s.items)+1)
	for i, it := range s.items {
		s.sizes[i], s.ends[i+1] = sizeOf(it.message), max(s.ends[i], it.end)
	}
	return s
}

// plan frees so many bytes of a window of so many, or as many as can be.
func (s sketch) plan(need, window int64) plan {
	var best plan
	for _, m := range []measures{{window / 8, window / 4, true}, {window / 16, window / 8, true}, {0, window / 16, false}} {
		p := s.under(m, need, window)
		if p.frees >= need {
			return p
		}
		if p.frees > best.frees {
			best = p
		}
	}
	return best
}

// under returns a plan that keeps what the measures say.
func (s sketch) under(m measures, need, window int64) plan {
	edge := s.edge(m)
	words, spared := s.longWords(m.words)
	p := plan{from: s.from, to: s.from, frees: spared}
	for i := s.from; i < edge && p.frees < need; i++ {
		if n := s.result(i); n > 0 {
			p.frees += n
			p.short = append(p.short, s.items[i].id)
		}
	}
	if p.frees >= need {
		p.short = mergeIDs(p.short, words)
		return p
	}
	if to, frees, ok := s.cut(m, edge, spared, need, window); ok && frees > p.frees {
		p.to, p.frees = to, frees
		p.keep = s.kept(to, m.words, words)
		p.short = nil
		for i := to; i < edge; i++ {
			if s.result(i) > 0 {
				p.short = append(p.short, s.items[i].id)
			}
		}
		words = slices.DeleteFunc(words, func(w id.Message) bool {
			return w <= s.ends[to] && !slices.Contains(p.keep, w)
		})
	}
	p.short = mergeIDs(p.short, words)
	return p
}

// result returns what the short form of a result spares; 0: it is none.
func (s sketch) result(i int) int64 {
	if s.items[i].kind != history.ToolResult {
		return 0
	}
	return bytesSaved(s.items[i])
}

// edge returns the first of the newest items.
func (s sketch) edge(m measures) int {
	edge := len(s.items)
	for left := m.newest; edge > s.from && s.sizes[edge-1] <= left; edge-- {
		left -= s.sizes[edge-1]
	}
	if m.last {
		unread := len(s.items)
		for unread > s.from && s.items[unread-1].kind != history.Assistant {
			unread--
		}
		edge = min(edge, unread)
	}
	return edge
}

// longWords returns the messages of the user that are shown in short because all of them
// together are more than they may be, and what that spares: the longest first.
func (s sketch) longWords(most int64) (short []id.Message, spared int64) {
	total := int64(0)
	var long []int
	for i := s.from; i < len(s.items); i++ {
		if !isPrompt(s.items[i].kind) {
			continue
		}
		total += s.sizes[i]
		if bytesSaved(s.items[i]) > 0 {
			long = append(long, i)
		}
	}
	slices.SortStableFunc(long, func(a, b int) int { return int(s.sizes[b] - s.sizes[a]) })
	for _, i := range long {
		if total-spared <= most {
			break
		}
		short = append(short, s.items[i].id)
		spared += bytesSaved(s.items[i])
	}
	slices.Sort(short)
	return short, spared
}

// cut finds the first item behind a summary: where enough is freed, or as far as the newest
// items.
func (s sketch) cut(m measures, edge int, spared, need, window int64) (to int, frees int64, ok bool) {
	summary := window / 32
	saved := spared // by short forms behind the cut
	for i := s.from; i < edge; i++ {
		saved += s.result(i)
	}
	var gone, words int64
	worth := false
	for i := s.from; i < len(s.items) && i <= edge; i++ {
		if worth && s.boundary(i) {
			if now := gone - min(words, m.words) - summary + saved; now > frees || !ok {
				to, frees, ok = i, now, true
			}
			if frees >= need {
				break
			}
		}
		gone += s.sizes[i]
		worth = worth || s.items[i].kind == history.Assistant
		if isPrompt(s.items[i].kind) {
			words += s.sizes[i]
		}
		if i < edge {
			saved -= s.result(i)
		}
	}
	return to, frees, ok && frees > 0
}

// boundary reports whether a summary may end before an item: no call is separated from its
// result, and no summary from the words that stay before it.
func (s sketch) boundary(i int) bool {
	it := s.items[i]
	return it.clean && it.kind != history.ToolResult && s.ends[i] < it.first
}

// kept returns the user's words that stay before a summary of all up to an item. If they are more
// than they may be, the oldest go, but never the first, the last, and the one that the turn
// answers: the assignment is among these.
func (s sketch) kept(to int, most int64, short []id.Message) []id.Message {
	var all []int
	total := int64(0)
	size := func(i int) int64 {
		if slices.Contains(short, s.items[i].id) {
			return s.sizes[i] - bytesSaved(s.items[i])
		}
		return s.sizes[i]
	}
	first, last := -1, -1
	for i := s.from; i < len(s.items); i++ {
		if !isPrompt(s.items[i].kind) {
			continue
		}
		if first < 0 {
			first = i
		}
		if last = i; i < to {
			all = append(all, i)
			total += size(i)
		}
	}
	var out []id.Message
	for _, i := range all {
		if total > most && i != first && i != last && s.items[i].id != s.task {
			total -= size(i)
			continue
		}
		out = append(out, s.items[i].id)
	}
	return out
}

// isPrompt reports whether entries of a kind are kept beside a summary: what the user said, and what the
// kernel told the agent, about itself and in the user's name.
func isPrompt(k history.Kind) bool { return k == history.User || k == history.Notice }

func mergeIDs(a, b []id.Message) []id.Message {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// A message in its short form has its beginning and its end, and says how much of which
// entry is left out; the entry itself is whole in the history. The form depends on
// nothing else, so that it is the same whenever a history is replayed.
const (
	shortResult = 400     // bytes of the beginning, and of the end, of a result
	shortWords  = 2 << 10 // of what the user said
	shortGain   = 256     // a form that spares less is not worth it
)

// shortenItem returns an item in its short form.
func shortenItem(it item) item {
	parts := make([]llm.Part, len(it.message.Parts))
	for i, p := range it.message.Parts {
		switch {
		case p.Type == llm.Image:
			p = llm.Part{Type: llm.Text, Text: fmt.Sprintf("[an image of entry %d is left out here]", it.id)}
		case p.Type == llm.Document:
			p = llm.Part{Type: llm.Text, Text: fmt.Sprintf("[a document of entry %d is left out here]", it.id)}
		case p.Type == llm.ToolResult:
			p.Text = leftOut(p.Text, it.id, shortResult)
		case p.Type == llm.Text && it.kind != history.Assistant:
			p.Text = leftOut(p.Text, it.id, shortWords)
		}
		parts[i] = p
	}
	it.message.Parts, it.short = parts, true
	return it
}

// leftOut returns the ends of a text of an entry.
func leftOut(s string, of id.Message, ends int) string {
	if len(s) <= 2*ends+shortGain {
		return s
	}
	head, tail, missing := text.Ends(s, ends)
	return fmt.Sprintf("%s\n[… %d bytes of entry %d are left out here …]\n%s", head, missing, of, tail)
}

// bytesSaved returns how many bytes the short form of an item is shorter; 0: it has none.
func bytesSaved(it item) int64 {
	if it.short || it.kind != history.ToolResult && !isPrompt(it.kind) {
		return 0
	}
	n := int64(0)
	for i := range it.message.Parts {
		p, ends := &it.message.Parts[i], shortResult
		switch {
		case p.Type == llm.Image:
			n += imageSize - 64
			continue
		case p.Type == llm.Document:
			n += documentSize(p) - 64
			continue
		case p.Type == llm.Text:
			ends = shortWords
		}
		if len(p.Text) > 2*ends+shortGain {
			n += int64(len(p.Text) - 2*ends - 64)
		}
	}
	if n < shortGain/2 {
		return 0
	}
	return n
}
