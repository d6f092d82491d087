package offline

import (
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// call is a call that a step wants.
type call struct {
	tool string
	args map[string]any
	act  string // what it does, for the report: "run `ls`"
}

func (c call) json() []byte {
	b, err := encode(c.args) // in the order of the names
	if err != nil {
		panic("offline: arguments of " + c.tool + ": " + err.Error())
	}
	return b
}

// outcome is a call with its result.
type outcome struct {
	call
	text   string
	failed bool
}

// work carries out an order. It begins from the start at each request: what was
// called before is found in the past, and the first call that is not is wanted
// now.
type work struct {
	offered map[string]bool
	past    []batch
	next    int    // of past
	want    []call // what to call now
	said    []string
}

func newWork(r llm.Request, past []batch) *work {
	w := &work{offered: map[string]bool{}, past: past}
	for _, t := range r.Tools {
		w.offered[t.Name] = true
	}
	for _, name := range r.Untold {
		w.offered[name] = true
	}
	return w
}

func (w *work) say(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) }

func (w *work) report() string {
	if len(w.said) == 0 {
		return "Done."
	}
	return strings.Join(w.said, "\n\n")
}

// do makes calls together. ok is false when the work stops here: the calls are
// to be made now, or it took too long already. Tools that are not offered are
// left out, and told.
func (w *work) do(calls ...call) (out []outcome, ok bool) {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c call) bool {
		if !w.offered[c.tool] {
			w.say("I cannot %s: the tool `%s` is not offered to me.", c.act, c.tool)
		}
		return !w.offered[c.tool]
	})
	if len(calls) == 0 {
		return nil, true
	}
	// Answers that do not fit were another model's, or made with other tools.
	for w.next < len(w.past) {
		b := w.past[w.next]
		w.next++
		if !slices.EqualFunc(b.calls, calls, func(p llm.Part, c call) bool { return p.Name == c.tool }) {
			continue
		}
		for i, c := range calls {
			r, found := b.results[b.calls[i].CallID]
			if !found {
				r = llm.Part{Text: "it has no result", IsError: true}
			}
			out = append(out, outcome{c, r.Text, r.IsError})
		}
		return out, true
	}
	if len(w.past) >= most-1 {
		w.say("I stop here: one order takes me at most %d answers.", most)
		return nil, false
	}
	w.want = calls
	return nil, false
}

// carryOut carries out a step; false when the work stops here.
func (w *work) carryOut(s step) bool {
	switch s.kind {
	case saying:
		w.say("%s", s.text)
	case together:
		out, ok := w.do(s.calls...)
		for _, o := range out {
			w.tell(o)
		}
		return ok
	case inTurn:
		return w.inTurn(s.calls)
	case forking:
		return w.fork(s)
	case waiting:
		_, ok := w.letters(s.calls[0])
		return ok
	}
	return true
}

// inTurn makes calls one after the other, until one fails. Only the last is
// quoted.
func (w *work) inTurn(calls []call) bool {
	for i, c := range calls {
		out, ok := w.do(c)
		if !ok {
			return false
		}
		if len(out) == 0 {
			return true
		}
		if out[0].failed || i == len(calls)-1 {
			w.tell(out[0])
		}
		if out[0].failed {
			return true
		}
	}
	return true
}

// letterHead begins a letter.
var letterHead = text.Regexp(`(?m)^Letter \d+ from .*$`)

// letters waits for letters, which the answer holds, and says who wrote: the first line of
// each. None: none came.
func (w *work) letters(wait call) (heads []string, ok bool) {
	out, ok := w.do(wait)
	if !ok || len(out) == 0 {
		return nil, ok
	}
	o := out[0]
	if heads = letterHead().FindAllString(o.text, -1); !o.failed && len(heads) > 0 {
		o.tool, o.act = "read_mail", "read a letter"
	}
	w.tell(o)
	return heads, true
}
