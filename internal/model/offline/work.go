package offline

import (
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/id"
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
var letterHead = text.Regexp(`(?m)^Mail \d+ from .*$`)

// letters waits for letters, which the answer holds, and says who wrote: the first line of
// each. None: none came.
func (w *work) letters(wait call) (heads []string, ok bool) {
	out, ok := w.do(wait)
	if !ok || len(out) == 0 {
		return nil, ok
	}
	o := out[0]
	if heads = letterHead().FindAllString(o.text, -1); !o.failed && len(heads) > 0 {
		o.tool, o.act = "read_mail", "read mail"
	}
	w.tell(o)
	return heads, true
}

// ordered returns what a message in the user's place asks for. Notices of the kernel stand there
// too: some ask for something, others for nothing (false).
func ordered(text string) (string, bool) {
	if _, body, ok := strings.Cut(text, "It is the user's word, as if they had said it here:\n\n"); ok { // their mail
		return body, strings.TrimSpace(body) != ""
	}
	switch {
	case strings.HasPrefix(text, "You are the child "):
		return "", false
	case strings.HasSuffix(text, ": read_mail."):
		return "read my mail", true
	case strings.HasPrefix(text, "Your turn is not over: ") && strings.Contains(text, " still work"):
		return "wait for all of them", true
	case strings.HasPrefix(text, "Your turn is not over: "):
		return "read my mail", true
	}
	return text, true
}

// strangers limits how many letters of others are read while waiting for children.
const strangers = 8

// agentID is an id as results tell it.
var agentID = text.Regexp(`\b[A-Za-z0-9][A-Za-z0-9_-]{21}\b`)

// fork forks, and waits for what the children have to say.
func (w *work) fork(s step) bool {
	out, ok := w.do(s.calls...)
	if !ok {
		return false
	}
	var children []id.Agent // those that have not written; empty: its id is unknown
	for _, o := range out {
		who := agentID().FindString(o.text)
		switch {
		case o.failed:
			w.tell(o)
			continue
		case strings.Contains(strings.ToLower(o.text), "you are the child"):
			w.say("I am the child, and was told nothing else.")
			return true
		case who != "":
			w.say("%s: it is %s.", past(o.act), showName(who))
		default:
			w.tell(o)
		}
		children = append(children, id.Agent(who))
	}
	if s.leave {
		return true
	}
	return w.hear(children)
}

// hear waits until each child has written.
func (w *work) hear(children []id.Agent) bool {
	all := len(children)
	for others := 0; len(children) > 0; {
		heads, ok := w.letters(call{tool: "wait", args: map[string]any{}, act: "wait for the children's mail"})
		if !ok {
			return false
		}
		if len(heads) == 0 || others >= strangers {
			w.say("Of %d children, %d have reported. Mail of the others can be read later.", all, all-len(children))
			return true
		}
		for _, head := range heads {
			if who := sender(head, children); who < 0 {
				others++
			} else {
				children = append(children[:who:who], children[who+1:]...)
			}
		}
	}
	return true
}

// sender finds the child that wrote a letter by the first line. A child whose
// id is not known may have written any.
func sender(letter string, children []id.Agent) int {
	first, _, _ := strings.Cut(letter, "\n")
	for i, c := range children {
		if c != "" && strings.Contains(first, c.Short()) {
			return i
		}
	}
	for i, c := range children {
		if c == "" {
			return i
		}
	}
	return -1
}

// fallback matches the part of an order that says what to write if the model can do no better: a file,
// and a text between lines of five tildes.
var fallback = text.Regexp("(?s)[Ii]f you can do no better, write to `([^`\n]+)` this text:\n\n~~~~~\n(.*?)\n~~~~~\n")

// answerFallback carries out an order that has such a text: this model can do no better. ok is
// false for all others.
func (w *work) answerFallback(order string) (ok bool) {
	m := fallback().FindStringSubmatch(order)
	if m == nil {
		return false
	}
	w.carryOut(oneCall("write", "write "+showName(m[1]), map[string]any{"path": m[1], "content": m[2] + "\n"})[0])
	return true
}

// How much of a result is quoted.
const (
	quotedLines = 12
	letterLines = 24 // of a letter, which may quote too
	quotedWidth = 160
)

// Examples lists orders that the model understands.
const Examples = "I understand plain orders, such as:\n\n" +
	"- run `go test ./...`\n" +
	"- list the files; read README.md; search for TODO in *.go; find *.md\n" +
	"- write \"hello\" to a.txt; replace hello with goodbye in a.txt\n" +
	"- fork two children: one reads a.txt and one runs `ls`\n" +
	"- send ada \"hello\"; wait for mail; check my mail; read my mail\n" +
	"- list the agents; kill ada; exit\n\n" +
	"Join steps with \"then\". For a real model, `ramet auth set VENDOR` takes a key."

func notUnderstood(odd string) string {
	if asksForHelp().MatchString(odd) {
		return "I am the model that is built into ramet, without network and without a mind of my own.\n\n" + Examples
	}
	if answer, ok := MeantTopic(odd); ok {
		return answer
	}
	return fmt.Sprintf("I do not understand %q, so I did nothing.\n\n%s", text.Line(odd, 120), Examples)
}

var asksForHelp = text.Regexp(`(?i)^(?:help|what (?:can|do) you .*|who are you|what are you)\W*$`)

var deniedWord = text.Regexp(`(?i)\bdenied\b|\bnot (?:permitted|allowed)\b|\bUNTRUSTED\b`)

// tell reports a call.
func (w *work) tell(o outcome) {
	said := quote(o)
	switch {
	case o.failed && deniedWord().MatchString(o.text):
		w.say("Denied: I was not permitted to %s.%s", o.act, said)
	case o.failed:
		w.say("Failed: I could not %s.%s", o.act, said)
	case said == "":
		w.say("%s.", past(o.act))
	default:
		w.say("%s:%s", past(o.act), said)
	}
}

// quote returns the first lines of a result, as a block of its own.
func quote(o outcome) string {
	body, limit := o.text, quotedLines
	if o.tool == "read_mail" {
		limit = letterLines
		body = strings.ReplaceAll(body, Label, "") // of another offline model; one label is enough
	}
	body = strings.TrimRight(body, "\n\r\t ")
	if strings.TrimSpace(body) == "" {
		return ""
	}
	lines := strings.Split(body, "\n")
	more := len(lines) - limit
	if more > 0 {
		lines = lines[:limit]
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight("\n    "+oneLine(line), " "))
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n    … and %d more lines", more)
	}
	return b.String()
}

// oneLine returns a line, made safe and cut; its indentation stays.
func oneLine(line string) string {
	line = strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    ")
	rest := strings.TrimLeft(line, " ")
	indent := min(len(line)-len(rest), quotedWidth/2)
	return strings.Repeat(" ", indent) + text.Line(rest, quotedWidth)
}

var pasts = map[string]string{"run": "Ran", "read": "Read", "write": "Wrote", "send": "Sent"}

// past describes what was done: "run `ls`" becomes "Ran `ls`".
func past(act string) string {
	verb, rest, _ := strings.Cut(act, " ")
	done := pasts[verb]
	if done == "" {
		done = strings.ToUpper(verb[:1]) + strings.TrimSuffix(verb[1:], "e") + "ed"
	}
	return done + " " + rest
}
