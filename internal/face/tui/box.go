package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

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
		case typing && m.now.input.text() != "":
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
