package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/face/tui/markdown"
)

type form int

const (
	saying   form = iota // of the user
	speech               // of the model: Markdown
	thought              // of the model: folded
	call                 // of a tool, with its result
	landmark             // a fork, a mark, a clear …
	output               // what a command of the user's answered; not stored
	trouble              // an error, in red
)

// key names a block of a conversation, across restarts.
type key struct {
	Entry id.Message
	Part  int
}

func (k key) String() string { return fmt.Sprintf("%d.%d", k.Entry, k.Part) }

// block is one piece of a conversation. What it holds is foreign; lines makes it
// harmless.
type block struct {
	key
	form
	title   string // of a call: tool; of output: the command
	about   string // of a call: what exactly was done
	body    string
	isError bool
	done    bool // a call has its result
	diff    bool // the body is one
	callID  string
	faded   bool   // not in the context any more
	waiting string // of a call: for what
	// permission is who let a call run, or not; nil: nobody had to
	permission *history.Permission
	rest       int64 // bytes of the body that are not here

	laid   []string // what lines made
	layout layout   // for which it was made
	grows  bool     // a speech that is not over
	begun  begun    // of one that grows
}

// layout names what the lines of a block depend on.
type layout struct {
	width, size int
	open, done  bool
	decided     bool
	shade       string
	theme       markdown.Theme
}

// begun is the beginning of a long speech that grows, which is laid out once.
type begun struct {
	layout layout
	size   int
	lines  []string
}

// foldable says whether opening a block shows more.
func (b *block) foldable() bool {
	return b.form == thought || b.form == call || b.form == output && strings.Count(b.body, "\n") > openOutput || b.form == saying && b.long() < len(b.body)
}

// long is how much of a prompt is shown while it is folded: a large paste stays one.
func (b *block) long() int {
	at := 0
	for range manyLines {
		n := strings.IndexByte(b.body[at:], '\n')
		if n < 0 {
			return min(len(b.body), longSaying)
		}
		at += n + 1
	}
	if strings.TrimSpace(b.body[at:]) == "" {
		return min(len(b.body), longSaying)
	}
	at = 0
	for range fewLines {
		at += strings.IndexByte(b.body[at:], '\n') + 1
	}
	return min(at, longSaying)
}

const (
	longSaying = 4000 // a prompt of more bytes is folded
	manyLines  = 30   // and one of more lines
	fewLines   = 8    // of which this many are shown
	openOutput = 40   // output of the user's own commands is shown to this many lines
)

// lines lays the block out.
func (b *block) lines(w int, open bool, theme markdown.Theme) []string {
	l := layout{w, len(b.body) + len(b.about), open, b.done, b.permission != nil, b.waits(), theme}
	if b.laid != nil && b.layout == l {
		return b.laid
	}
	b.layout = l
	b.laid = b.lay(w, open)
	if b.faded {
		for i, line := range b.laid {
			b.laid[i] = faint.of(strip(line))
		}
	}
	return b.laid
}

func (b *block) lay(w int, open bool) []string {
	switch b.form {
	case saying:
		return b.laySaying(w, open)
	case speech:
		return b.speech(w)
	case thought:
		return b.layThought(w, open)
	case call:
		return b.layCall(w, open)
	case landmark:
		return []string{rule(b.body, w), ""}
	case trouble:
		var out []string
		for _, l := range wrap(clean(b.body), w-2) {
			out = append(out, bad.of("✗ "+l))
		}
		return append(out, "")
	}
	return b.layOutput(w, open)
}

// rule is a line across the screen with a word in it.
func rule(word string, w int) string {
	word = line(word, w-8)
	left := max(2, (w-width(word)-2)/2)
	right := max(0, w-left-2-width(word))
	return faint.of(strings.Repeat("─", left) + " " + word + " " + strings.Repeat("─", right))
}

func (b *block) laySaying(w int, open bool) []string {
	body := b.body
	most := b.long()
	folded := !open && len(body) > most
	if folded {
		body = body[:most]
	}
	var out []string
	for i, l := range wrap(clean(strings.TrimRight(body, "\n")), w-2) {
		out = append(out, grounded(b.layout.theme.Ground, yours, lead(i, "› "), bold, l, w))
	}
	if folded {
		rest := b.body[most:]
		out = append(out, faint.of(fmt.Sprintf("  … %s, %d bytes more", text.Count(strings.Count(strings.TrimRight(rest, "\n"), "\n")+1, "line"), int64(len(rest))+b.rest)))
	}
	return append(out, "")
}

// grounded writes a line on a ground of its own, to its end.
func grounded(ground markdown.Style, first style, mark string, then style, l string, w int) string {
	if ground == "" {
		return first.of(mark) + then.of(l)
	}
	on := style(";" + string(ground))
	return (first + on).of(mark) + (then + on).of(fit(l, max(0, w-width(mark))))
}

func (b *block) speech(w int) []string {
	theme := b.layout.theme
	if !b.grows {
		return append(markdown.Render(b.body, w, theme), "")
	}
	if l := (layout{width: w, theme: theme}); b.begun.layout != l {
		b.begun = begun{layout: l}
	}
	if at := cutSpeech(b.body[b.begun.size:]); at > 0 {
		b.begun.lines = append(b.begun.lines, append(markdown.Render(b.body[b.begun.size:b.begun.size+at], w, theme), "")...)
		b.begun.size += at
	}
	return append(slices.Concat(b.begun.lines, markdown.Render(b.body[b.begun.size:], w, theme)), "")
}

// cutSpeech returns where a long text can be cut in two that look nearly as the whole: at a blank line outside of code
// and lists; 0 if nowhere.
func cutSpeech(s string) int {
	const long = 16 << 10
	if len(s) < long {
		return 0
	}
	for at := long / 2; at > 0; {
		if at = strings.LastIndex(s[:at], "\n\n"); at > 0 && !strings.ContainsAny(s[at+2:at+3], " \t\n-*+0123456789>|") && strings.Count("\n"+s[:at], "\n```")%2 == 0 {
			return at
		}
	}
	return 0
}

func (b *block) layThought(w int, open bool) []string {
	if !open {
		first, _, _ := strings.Cut(strings.TrimSpace(b.body[:min(len(b.body), 4*w+64)]), "\n")
		return []string{faint.of("✻ " + line(first, w-2)), ""}
	}
	body := strings.TrimSpace(clean(b.body))
	var out []string
	for i, l := range wrap(body, w-2) {
		out = append(out, "\x1b[2;3m"+lead(i, "✻ ")+l+"\x1b[m")
	}
	return append(out, "")
}

// How much of the answer of a call is shown while it is folded.
const (
	foldedDiff   = 14
	foldedTail   = 6
	foldedErrors = 4
)

// waits is for what a call waits. One that is over waits for nothing, whoever tells of it late.
func (b *block) waits() string {
	if b.done {
		return ""
	}
	return b.waiting
}

func (b *block) layCall(w int, open bool) []string {
	mark := good.of("●")
	switch {
	case b.waits() != "":
		mark = warn.of("?")
	case !b.done:
		mark = warn.of("◌")
	case b.isError:
		mark = bad.of("✗")
	}
	title := line(b.title, 24)
	head := mark + " " + tooled.of(title) + " " + line(b.about, max(8, w-4-width(title)))
	out := []string{cut(head, w)}
	if open && width(line(b.about, 4*w)) > w-4-width(title) {
		for _, l := range wrap(clean(b.about), w-4) {
			out = append(out, faint.of("  │ ")+l)
		}
	}
	if why := b.waits(); why != "" {
		out = append(out, warn.of("  "+line(why, w-2)))
	}
	if p := b.permission; p != nil && (open || p.By != history.ByMode || p.Answer == history.Refused) {
		out = append(out, faint.of("  "+line(sayPermission(*p), w-2)))
	}
	body := strings.TrimRight(clean(b.body), "\n")
	if body == "" {
		return append(out, "")
	}
	all := strings.Split(body, "\n")
	show, hidden := all, 0
	if !open {
		show, hidden = b.folded(all)
	}
	if hidden > 0 && !b.diff && len(show) > 0 {
		out = append(out, faint.of(fmt.Sprintf("  │ … %s above%s", text.Count(hidden, "line"), size(all[:hidden]))))
	}
	patch := b.diff && !b.isError
	if patch {
		show = patched(all, b.layout.theme)[:len(show)]
	}
	for _, l := range show {
		for _, piece := range pieces(l, w-4, open) {
			if !patch {
				piece = b.shade(piece)
			}
			out = append(out, faint.of("  │ ")+piece)
		}
	}
	if hidden > 0 && (b.diff || len(show) == 0) {
		out = append(out, faint.of(fmt.Sprintf("  └ %s%s", text.Count(hidden, more(len(show) > 0)), size(all[len(all)-hidden:]))))
	}
	if b.rest > 0 {
		out = append(out, faint.of(fmt.Sprintf("  └ %d bytes more are not shown", b.rest)))
	}
	return append(out, "")
}

// sayPermission returns who permitted a call, or did not, without the time.
func sayPermission(p history.Permission) string {
	p.At = ""
	return p.String()
}

func size(lines []string) string {
	n := 0
	for _, l := range lines {
		n += len(l) + 1
	}
	switch {
	case n < 1<<10:
		return ""
	case n < 1<<20:
		return fmt.Sprintf(", %d kB", n>>10)
	}
	return fmt.Sprintf(", %.1f MB", float64(n)/(1<<20))
}

func more(some bool) string {
	if some {
		return "more line"
	}
	return "line"
}

// folded is what is shown of the lines of a call that nobody opened.
func (b *block) folded(all []string) (show []string, hidden int) {
	switch {
	case b.title == "plan": // it is there to be seen
		show = all
	case b.diff:
		show = all[:min(len(all), foldedDiff)]
	case b.title == "bash" || !b.done || b.title == "!":
		show = all[max(0, len(all)-foldedTail):]
	case b.isError:
		show = all[max(0, len(all)-foldedErrors):]
	case len(all) <= 2:
		show = all
	}
	return show, len(all) - len(show)
}

func pieces(l string, w int, open bool) []string {
	if width(l) <= w {
		return []string{l}
	}
	if !open {
		return []string{cut(l, w)}
	}
	return wrap(l, w)
}

func (b *block) shade(l string) string {
	if b.isError {
		return bad.of(l)
	}
	return faint.of(l)
}

func (b *block) layOutput(w int, open bool) []string {
	out := []string{accent.of("⌘ ") + faint.of(line(b.title, w-2))}
	all := strings.Split(strings.TrimRight(clean(b.body), "\n"), "\n")
	show := all
	if !open && len(all) > openOutput {
		show = all[:openOutput]
	}
	for _, l := range show {
		for _, piece := range wrap(l, w-2) {
			out = append(out, "  "+piece)
		}
	}
	if hidden := len(all) - len(show); hidden > 0 {
		out = append(out, faint.of(fmt.Sprintf("  └ %s", text.Count(hidden, "more line"))))
	}
	return append(out, "")
}

// telling are the arguments that say best what a call does, in this order.
var telling = []string{"command", "path", "pattern", "prompt", "to", "agent", "query", "result"}

// summary returns one line about the arguments of a call.
func summary(tool string, args json.RawMessage) string {
	var m map[string]any
	if json.Unmarshal(args, &m) != nil {
		return string(args)
	}
	switch tool {
	case "plan":
		return "" // the list says it
	case "ask":
		said, _ := m["question"].(string)
		return said
	}
	var parts []string
	take := func(name string) {
		v, ok := m[name]
		if !ok {
			return
		}
		delete(m, name)
		s, isText := v.(string)
		if !isText {
			b, _ := json.Marshal(v)
			s = name + "=" + string(b)
		} else if len(parts) > 0 && !slices.Contains(telling[:3], name) {
			s = name + "=" + s
		}
		parts = append(parts, s)
	}
	for _, name := range telling {
		take(name)
	}
	if len(parts) > 0 && (tool == "write" || tool == "edit") {
		return strings.Join(parts, " ") // the diff says the rest
	}
	var rest []string
	for name := range m {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		take(name)
	}
	return strings.Join(parts, " ")
}
