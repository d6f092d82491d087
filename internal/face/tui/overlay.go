package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
)

type sheet struct {
	title string
	lines []string // harmless
	at    int
	high  int
}

func (s *sheet) scroll(n int) { s.at = max(0, min(s.at+n, len(s.lines)-s.high)) }

func (s *sheet) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "esc", "q", "enter", "f1":
		m.over = nil
	case "space":
		s.scroll(s.high)
	default:
		s.scroll(stepOf(name, s.high))
	}
	return nil
}

// farthest is more lines than any list has.
const farthest = 1 << 40

// stepOf returns by how many lines a key moves in a list whose page has so many; 0 if it moves nothing.
func stepOf(name string, page int) int {
	switch name {
	case "up", "k":
		return -1
	case "down", "j":
		return 1
	case "pgup":
		return -page
	case "pgdown":
		return page
	case "home":
		return -farthest
	case "end":
		return farthest
	}
	return 0
}

func framed(title string, lines []string, keys string, w, h int) []string {
	out := append([]string{headline(title, w)}, fill(lines, max(0, h-2))...)
	return append(out, faint.of(cut(keys, w)))
}

func (s *sheet) view(m *root, w, h int) []string {
	s.high = max(1, h-2)
	s.scroll(0)
	var out []string
	for _, l := range s.lines[s.at:min(len(s.lines), s.at+s.high)] {
		out = append(out, cut(l, w))
	}
	return framed(s.title, out, "↑↓ PgUp PgDn scroll · Esc close", w, h)
}

func headline(title string, w int) string {
	return accented.of(fit("▌ "+title, w))
}

type choice struct {
	text  string // harmless; what the letters are held against
	extra string // beside it
	value int
}

type picker struct {
	title   string
	choices []choice
	words   []string
	typed   string
	found   []FuzzyMatch
	at      int
	pick    func(m *root, value int) tea.Cmd
	more    func(m *root) tea.Cmd // what Ctrl+G does; nil: nothing
}

func newPicker(title string, choices []choice, at int, pick func(*root, int) tea.Cmd) *picker {
	p := &picker{title: title, choices: choices, pick: pick}
	for _, c := range choices {
		p.words = append(p.words, strings.TrimLeft(c.text, " │├└─"))
	}
	p.filter()
	p.at = at
	return p
}

func (p *picker) filter() { p.found, p.at = FindFuzzy(p.typed, p.words), 0 }

func (p *picker) scroll(n int) { p.at = max(0, min(p.at+n, len(p.found)-1)) }

func (p *picker) paste(s string) { p.typed += line(s, 80); p.filter() }

func (p *picker) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "esc":
		m.over = nil
	case "enter":
		m.over = nil
		if p.at < len(p.found) {
			return p.pick(m, p.choices[p.found[p.at].Index].value)
		}
	case "ctrl+g":
		if p.more != nil {
			return p.more(m)
		}
	case "up", "down", "pgup", "pgdown":
		p.scroll(stepOf(name, 10))
	case "ctrl+p":
		p.scroll(-1)
	case "ctrl+n", "tab":
		p.scroll(1)
	case "backspace":
		if r := []rune(p.typed); len(r) > 0 {
			p.typed = string(r[:len(r)-1])
			p.filter()
		}
	default:
		if k.Text != "" {
			p.typed += clean(k.Text)
			p.filter()
		}
	}
	return nil
}

func (p *picker) view(m *root, w, h int) []string {
	var out []string
	room := max(1, h-2)
	from := max(0, min(p.at-room/2, len(p.found)-room))
	for i := from; i < len(p.found) && i < from+room; i++ {
		c := p.choices[p.found[i].Index]
		text := c.text
		if p.typed != "" {
			text = p.words[p.found[i].Index]
		}
		l := spread(" "+text, c.extra, w)
		if i == p.at {
			l = reverse.of(fit(strip(l), w))
		}
		out = append(out, l)
	}
	if len(p.found) == 0 {
		out = append(out, faint.of(" No match"))
	}
	return framed(p.title+"  "+p.typed+"▏", out, "type to search · ↑↓ select · Enter open · Esc close", w, h)
}

// box is a question above the prompt, with a list of answers. Only Enter decides, so that nothing typed into a message
// answers it: text goes to the prompt and selects the first answer again. In Home's list, where nothing is typed, an
// answer may have a key of its own.
type box struct {
	text    string
	options []option
	at      int       // the highlighted option
	open    time.Time // when it appeared: an Enter meant for something else does not answer it
	top     int       // first line of the text that is shown
	more    int       // lines of it that do not fit
}

// option is an answer; one that does nothing has no do.
type option struct {
	key, label string
	do         func() tea.Cmd
}

var cancel = option{label: "Cancel"}

func (m *root) ask(text string, options ...option) {
	m.over = &box{text: text, options: options, open: m.o.Now()}
}

func (b *box) decide(m *root, o option) tea.Cmd {
	m.over = nil
	if o.do == nil {
		return nil
	}
	return o.do()
}

func (b *box) scroll(n int) { b.top = max(0, min(b.top+n, b.more)) }

func (b *box) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	typing := !m.hall.on || m.hall.line
	switch k.String() {
	case "esc":
		m.over = nil
	case "up":
		b.at = max(0, b.at-1)
	case "down":
		b.at = min(len(b.options)-1, b.at+1)
	case "pgup", "shift+up":
		b.scroll(-1)
	case "pgdown", "shift+down":
		b.scroll(1)
	case "enter":
		switch {
		case typing && m.now.input.Text() != "":
			return m.submit()
		case b.at == 0 && m.o.Now().Sub(b.open) < SinceAppeared:
			return nil
		}
		return b.decide(m, b.options[b.at])
	default:
		if typing {
			b.at = 0
			return m.typed(k)
		}
		for _, o := range b.options {
			if o.key == k.String() {
				return b.decide(m, o)
			}
		}
	}
	return nil
}

func (b *box) view(m *root, w, h int) []string {
	bar := warn.of("▌ ")
	lines := wrap(clean(b.text), w-2)
	room := max(1, h-len(b.options)-1)
	b.more = max(0, len(lines)-room)
	b.scroll(0)
	help := "↑↓ select · Enter confirm · Esc cancel"
	if b.more > 0 {
		help = fmt.Sprintf("lines %d–%d of %d, Shift+↑↓ scrolls · ", b.top+1, b.top+room, len(lines)) + help
	}
	var out []string
	for i, l := range lines[b.top:min(len(lines), b.top+room)] {
		st := plain
		if b.top+i == 0 {
			st = bold
		}
		out = append(out, bar+st.of(l))
	}
	for i, o := range b.options {
		mark, st := "  ", plain
		if i == b.at {
			mark, st = accented.of("❯ "), bold
		}
		label := st.of(o.label)
		if o.key != "" && m.hall.on && !m.hall.line {
			label = accented.of(o.key) + " " + label
		}
		out = append(out, bar+cut(mark+label, w-2))
	}
	return append(out, bar+faint.of(cut(help, w-2)))
}

func killText(name string, n int) string {
	if n == 1 {
		return "Kill " + name + "?\nThis kills 1 agent and stops whatever it is running. Its history stays readable."
	}
	return fmt.Sprintf("Kill %s and its subtree?\nThis kills %d agents and stops whatever they are running. Their histories stay readable.", name, n)
}

func joinLines(title string, lines []string) string {
	return title + "\n" + strings.Join(lines, "\n")
}

func keyOwners() []catalog.Vendor {
	var out []catalog.Vendor
	for _, v := range catalog.Vendors() {
		if v.KeyOwner() == v.Name && !v.BuiltIn && v.KeyVariable() != "" {
			out = append(out, v)
		}
	}
	return out
}

// openKey asks for the key of a vendor; without a name, for which one first.
func (m *root) openKey(name string) tea.Cmd {
	all := keyOwners()
	var names []string
	var choices []choice
	for i, v := range all {
		if strings.EqualFold(v.Name, name) {
			m.over = &keyEntry{vendor: v}
			return nil
		}
		names = append(names, v.Name)
		choices = append(choices, choice{line(v.Name, 30) + "  " + line(v.Title, 40), v.KeyVariable(), i})
	}
	if name == "" {
		m.over = newPicker("add a key for", choices, 0, func(m *root, i int) tea.Cmd {
			m.over = &keyEntry{vendor: all[i]}
			return nil
		})
		return nil
	}
	return m.tell(bad, line(name, 40)+" is not a vendor with a key: "+text.NearestHint(strings.ToLower(name), names, "/key lists them"))
}

// keyEntry takes a key and shows only how long it is. It is never part of the screen's memory.
type keyEntry struct {
	vendor catalog.Vendor
	typed  string
	trying bool
}

type keyMsg struct {
	of   *keyEntry
	said string
	err  error
}

func (e *keyEntry) paste(s string) { e.typed += strings.TrimSpace(s) }

func (e *keyEntry) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); {
	case name == "esc":
		m.over = nil
	case e.trying:
	case name == "backspace":
		_, n := utf8.DecodeLastRuneInString(e.typed)
		e.typed = e.typed[:len(e.typed)-n]
	case name == "enter" && e.typed != "":
		e.trying = true
		workspace, ctx, key := m.workspace, m.ctx, e.typed
		return func() tea.Msg {
			said, err := workspace.Key(ctx, e.vendor.Name, key)
			return keyMsg{e, said, err}
		}
	case k.Text != "":
		e.typed += k.Text
	}
	return nil
}

func (e *keyEntry) view(m *root, w, h int) []string {
	out := []string{"", cut(" "+strings.Repeat("•", min(utf8.RuneCountInString(e.typed), max(0, w-4)))+"▏", w), ""}
	about := "Type or paste it; it isn't shown. It is checked with the vendor and saved in ramet's home, where only you can read it. No agent sees it."
	if e.trying {
		about = "Checking the key with " + line(e.vendor.Title, 40) + "…"
	}
	for _, l := range wrap(about, max(1, w-2)) {
		out = append(out, faint.of(" "+l))
	}
	return framed("API key for "+line(e.vendor.Title, 40), out, "Enter check and save · Esc cancel", w, h)
}

// apply follows what became of a key. One that is refused can be mended where it stands.
func (msg keyMsg) apply(m *root) tea.Cmd {
	if msg.err != nil {
		msg.of.trying, msg.of.typed = false, ""
		return m.tell(bad, explain(msg.err))
	}
	if m.over == overlay(msg.of) {
		m.over = nil
	}
	clear(m.models) // there may be a better one now
	return tea.Batch(m.choose(m.now), m.findServers(), m.tell(good, line(msg.said, 200)))
}

// trustKey shows what in the project has changed since it was accepted.
const trustKey = "f2"

// acceptKey accepts it. It is no letter, so that nothing that is typed accepts anything.
const acceptKey = "ctrl+a"

// pointed says in a note that is about what acts which key shows it.
func pointed(note string) string { return strings.ReplaceAll(note, "`ramet trust`", "F2") }

type reviewMsg struct {
	text string
	err  error
}

func (m *root) openTrust() tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	if workspace == nil {
		return nil // not yet
	}
	return func() tea.Msg {
		text, err := workspace.Command(ctx, "trust", "--list", "--json")
		return reviewMsg{text, err}
	}
}

// review shows everything that would act in the project, to be accepted in exactly these bytes.
type review struct {
	sheet
	digest string // empty: there is nothing to accept
}

func (msg reviewMsg) apply(m *root) tea.Cmd {
	var d struct {
		Project string
		Trusted bool
		Digest  string
		Things  []struct {
			Kind, Path, Does, Change, Diff string
			Size                           int
			Refused                        *string
			Invisible                      []string
		}
	}
	err := msg.err
	if err == nil {
		err = json.Unmarshal([]byte(msg.text), &d)
	}
	if err != nil {
		return m.tell(bad, explain(err))
	}
	r := &review{sheet: sheet{title: "what is active in " + line(d.Project, 200)}}
	if !d.Trusted {
		r.digest = d.Digest
	}
	say := func(l string) { r.lines = append(r.lines, l) }
	for _, t := range d.Things {
		what := t.Does
		if t.Refused != nil {
			what = "inactive: " + *t.Refused
		}
		say(bold.of(line(fmt.Sprintf("%s  %s %s, %s", t.Change, t.Kind, t.Path, text.Count(t.Size, "byte")), 400)))
		say("  " + faint.of(line(what, 400)))
		for _, i := range t.Invisible {
			say("  " + bad.of(line("invisible: "+i, 400)))
		}
		for l := range strings.SplitSeq(strings.TrimSuffix(t.Diff, "\n"), "\n") {
			switch l = clean(l); {
			case t.Diff == "":
			case strings.HasPrefix(l, "+"):
				say("  " + good.of(l))
			case strings.HasPrefix(l, "-"):
				say("  " + bad.of(l))
			default:
				say("  " + l)
			}
		}
		say("")
	}
	if len(d.Things) == 0 {
		say("Nothing in this project is active.")
	}
	m.over = r
	return nil
}

func (r *review) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); {
	case name == trustKey:
		m.over = nil
		return nil
	case name != acceptKey || r.digest == "":
		return r.sheet.key(m, k)
	}
	m.over = nil
	digest := r.digest
	return m.alter(m.now.agent, m.work("trust", func(ctx context.Context, workspace Workspace) (string, error) {
		_, err := workspace.Command(ctx, "trust", "--accept", digest)
		return "Accepted. In effect from the next turn.", err
	}))
}

func (r *review) view(m *root, w, h int) []string {
	out := r.sheet.view(m, w, h)
	if r.digest != "" {
		out[len(out)-1] = faint.of(cut("↑↓ PgUp PgDn scroll · Ctrl+A accept exactly this · Esc close", w))
	}
	return out
}
