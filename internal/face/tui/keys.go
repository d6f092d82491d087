package tui

import (
	"context"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/session"
)

// key follows a key, and remembers when something was typed.
func (m *root) key(k tea.KeyPressMsg) tea.Cmd {
	before, list := m.now.input.Text(), m.hall.on && !m.hall.line
	cmd := m.pressed(k)
	if stepped := list && m.hall.line; !stepped && k.Text != "" || m.now.input.Text() != before {
		m.typing()
	}
	return cmd
}

func (m *root) pressed(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name == "ctrl+c" {
		return m.interrupt()
	}
	if m.over != nil {
		return m.over.key(m, k)
	}
	if m.hall.on {
		return m.homeKey(k)
	}
	q := m.asking()
	if name == "left" && m.now.input.Text() == "" && !m.search.on && m.now.picked() == nil && (q == nil || q.Stage == Choosing && q.At == 0) {
		return m.openHome()
	}
	if q != nil {
		if cmd, taken := q.press(m, k); taken {
			return cmd
		}
	}
	if cmd, ok := pressed(m.keyRows(), name); ok {
		return cmd
	}
	if m.search.on {
		return m.search.key(m, k)
	}
	if q != nil {
		m.now.chosen = nil // what is typed while somebody asks is for the prompt
	} else if cmd, ok := m.pickedKey(name); ok {
		return cmd
	}
	if cmd, ok := m.offer.key(m, name); ok {
		return cmd
	}
	return m.typed(k)
}

// keyRow describes a key. One without do works only where it is read.
type keyRow struct {
	key        string // as the terminal names it
	name, help string // for the help screen; empty: another row tells it
	do         func() tea.Cmd
}

// keyRows returns the keys that work wherever nothing is in front, among those that the help screen lists.
func (m *root) keyRows() []keyRow {
	page := max(1, m.now.height-2)
	walk := func(find func(id.Agent) (id.Agent, bool)) func() tea.Cmd {
		return func() tea.Cmd { return m.walk(find(m.now.agent)) }
	}
	beside := func(n int) func() tea.Cmd {
		return func() tea.Cmd { return m.walk(m.agents.beside(m.now.agent, n)) }
	}
	scroll := func(n int) func() tea.Cmd { return func() tea.Cmd { return m.scroll(n) } }
	return []keyRow{
		{"enter", "Enter", "send; on an empty prompt: resume what was interrupted", nil},
		{"alt+enter", "Alt+Enter, Ctrl+J", "new line", nil},
		{"esc", "Esc, Ctrl+C", "stop the turn; Ctrl+C twice on an empty prompt quits", m.escape},
		{"ctrl+up", "Ctrl+↑ ↓ ← →", "go to the parent, newest child, siblings", walk(m.agents.up)},
		{"ctrl+down", "", "", walk(m.agents.down)},
		{"ctrl+left", "", "", beside(-1)},
		{"ctrl+right", "", "", beside(1)},
		{"ctrl+t", "Ctrl+T", "tree of agents", m.change(func() { m.memory.Tree = !m.memory.Tree })},
		{"ctrl+g", "Ctrl+G", "go to an agent by a few letters", func() tea.Cmd { return m.openJump(false) }},
		{"left", "← on an empty prompt", "Home: all agents, by what needs your attention", nil},
		{"ctrl+r", "Ctrl+R", "find an earlier prompt", m.openPast},
		{"ctrl+x", "Ctrl+X", "edit the prompt in your $EDITOR", m.openEditor},
		{"alt+r", "Alt+R", "resume everything that was interrupted", m.goOnAll},
		{"ctrl+p", "Ctrl+P", "go to the agent that needs approval", m.toQuestion},
		{"up", "↑ ↓, Enter", "answer a question, on an empty prompt", nil},
		{"shift+tab", "Shift+Tab", "mode: ask, accept edits, box, read-only", m.nextMode},
		{"ctrl+l", "Ctrl+L", "lineage: forks, marks; fork or rewind from there", m.openTimeline},
		{"ctrl+o", "Ctrl+O", "expand or collapse all calls and thoughts", m.change(func() { m.now.all, m.now.folds = !m.now.all, map[string]bool{} })},
		{"alt+up", "Alt+↑ ↓", "select a block; Enter opens it, c copies it", m.change(func() { m.now.choose(-1) })},
		{"alt+down", "", "", m.change(func() { m.now.choose(1) })},
		{"ctrl+v", "Ctrl+V", "paste the image on the clipboard; a dropped file, or @FILE, shows one too", m.pasteImage},
		{"ctrl+f", "Ctrl+F", "search in the conversation", m.change(func() { m.search = search{on: true} })},
		{"pgup", "PgUp, PgDn, wheel", "scroll; Ctrl+Home, Ctrl+End: to the ends", scroll(-page)},
		{"pgdown", "", "", scroll(page)},
		{"shift+up", "", "", scroll(-1)},
		{"shift+down", "", "", scroll(1)},
		{"ctrl+home", "", "", m.scrollToTop},
		{"ctrl+end", "", "", m.change(func() { m.now.at = nil })},
		{"alt+c", "Alt+C", "copy the last answer", func() tea.Cmd { return m.copyText(m.now.lastSpeech()) }},
		{"up", "↑ ↓", "at the edge of the prompt: earlier prompts", nil},
		{"tab", "Tab", "complete /commands, @files", nil},
		{"!", "!command", "run a command yourself; the model does not see it", nil},
		{trustKey, "F2", "what is active in the project, and what changed", m.openTrust},
		{"f1", "F1", "this help", func() tea.Cmd { return m.openHelp("") }},
	}
}

// change returns what a key does that only changes what is shown.
func (m *root) change(do func()) func() tea.Cmd {
	return func() tea.Cmd {
		do()
		m.dirty = true
		return nil
	}
}

// pressed carries out a key of a table; false: it is none of them.
func pressed(rows []keyRow, name string) (tea.Cmd, bool) {
	for _, row := range rows {
		if row.key == name && row.do != nil {
			return row.do(), true
		}
	}
	return nil, false
}

// describeKeys lists keys for the help screen.
func describeKeys(rows []keyRow, w int) (out []string) {
	for _, row := range rows {
		if row.name != "" {
			out = append(out, describe(row.name, row.help, w)...)
		}
	}
	return out
}

func (m *root) scrollToTop() tea.Cmd {
	if len(m.now.blocks) > 0 {
		b := m.now.blocks[0]
		m.now.at, m.dirty = &position{b.Entry, b.Part, 0}, true
	}
	return m.older(m.now)
}

func (m *root) pickedKey(name string) (tea.Cmd, bool) {
	b := m.now.picked()
	if b == nil {
		return nil, false
	}
	switch name {
	case "enter", "space", " ":
		m.now.fold(b)
		m.dirty = true
		return nil, true
	case "c", "y":
		return m.copyText(b.body), true
	case "up", "down":
		n := -1
		if name == "down" {
			n = 1
		}
		m.now.choose(n)
		return nil, true
	}
	m.now.chosen = nil
	return nil, false
}

func (m *root) copyText(s string) tea.Cmd {
	if s == "" {
		return m.tell(faint, "Nothing to copy.")
	}
	return tea.Batch(m.send(ansi.SetSystemClipboard(s)), m.tell(good, "Copied "+text.Count(strings.Count(s, "\n")+1, "line")))
}

func (m *root) typed(k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); name {
	case "enter":
		return m.submit()
	case "ctrl+d":
		if m.now.input.Text() == "" {
			return tea.Quit
		}
	case "up", "down":
		if m.past.key(m, name) {
			return nil
		}
	case "?":
		if m.now.input.Text() == "" && m.asking() == nil {
			return m.openHelp("")
		}
	}
	before := m.now.input.Text()
	if !m.now.input.key(k.String(), k.Text) {
		return nil
	}
	if m.now.input.Text() != before {
		return m.edited()
	}
	m.dirty = true // the cursor moved
	return m.offer.update(m)
}

func (m *root) paste(s string) tea.Cmd {
	if p, ok := m.over.(interface{ paste(string) }); ok {
		p.paste(s)
		return nil
	}
	if m.over != nil || m.hall.on && !m.hall.line {
		return nil
	}
	if q := m.asking(); q != nil && q.Paste(s, m.o.Now()) {
		return nil
	}
	m.now.input.paste(session.ReplacePasted(s))
	m.typing()
	return m.edited()
}

func (m *root) scroll(n int) tea.Cmd {
	older := m.now.scroll(n)
	m.dirty = true
	if older {
		return m.older(m.now)
	}
	return nil
}

func (m *root) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	n := 3
	if msg.Button == tea.MouseWheelUp {
		n = -3
	} else if msg.Button != tea.MouseWheelDown {
		return nil
	}
	if s, ok := m.over.(interface{ scroll(int) }); ok {
		s.scroll(n)
		return nil
	}
	return m.scroll(n)
}

func (m *root) click(msg tea.MouseClickMsg) tea.Cmd {
	if m.over == nil && msg.Button == tea.MouseLeft && msg.Y >= 0 && msg.Y < len(m.hits) {
		m.now.fold(m.hits[msg.Y])
		m.dirty = true
	}
	return nil
}

// escape leaves what is nearest: a list, a choice, a search, then the turn.
func (m *root) escape() tea.Cmd {
	switch {
	case m.offer.shown():
		m.offer.close()
	case m.search.on:
		m.search = search{}
	case m.now.chosen != nil:
		m.now.chosen = nil
	case m.memory.Tree && m.w < treeBeside:
		m.memory.Tree, m.dirty = false, true
	case m.tour.on && m.asking() == nil:
		m.tour = tour{}
	case m.stoppable():
		return m.halt()
	case m.memory.Tree: // beside the conversation it hides nothing, and is the last that is closed
		m.memory.Tree, m.dirty = false, true
	}
	return nil
}

// twice limits the time until the second Ctrl-C: as long as the notice about it is shown.
const twice = noticeFor

// interrupt handles Ctrl-C: it stops what is under way, else clears the prompt, else
// leaves.
func (m *root) interrupt() tea.Cmd {
	switch {
	case m.over != nil:
		m.over = nil
		return nil
	case m.hall.on && !m.hall.line:
	case m.stoppable() && !m.now.stopping:
		return m.halt()
	case m.now.input.Text() != "":
		m.memory.remember(m.now.input.Text())
		m.now.input.set("", 0)
		m.edited()
		return nil
	}
	if now := m.o.Now(); now.Sub(m.ctrlC) < twice {
		return tea.Quit
	}
	m.ctrlC = m.o.Now()
	return m.tell(accent, "Press Ctrl+C again to quit")
}

// farewell tells a person who left how many agents continue without the terminal; empty: nothing does.
func (m *root) farewell() string {
	n := 0
	if m.workspace == nil || m.agents == nil {
		return ""
	}
	for _, a := range m.agents.living {
		if m.agents.States[a.ID].Busy() {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return text.Count(n, "agent") + " still working in the background. Run `ramet` to see them, or `ramet interrupt AGENT` to stop one.\n"
}

// walk goes to another agent; where there is none, nothing happens.
func (m *root) walk(to id.Agent, ok bool) tea.Cmd {
	if !ok {
		return nil
	}
	return m.goTo(to)
}

func (m *root) goTo(a id.Agent) tea.Cmd {
	if a == m.now.agent {
		return nil
	}
	m.search = search{}
	m.visit(a)
	return tea.Batch(m.catchUp(m.now), m.choose(m.now))
}

// writable returns the current agent, and why it cannot be spoken to.
func (m *root) writable() (agent.Agent, error) {
	a, ok := m.agent()
	if !ok {
		return a, nil
	}
	return a, agent.NeedLiving(a)
}

// openPast lets the user find an earlier prompt by a few letters; the newest is at the top.
func (m *root) openPast() tea.Cmd {
	var choices []choice
	seen := map[string]bool{}
	for i, said := range slices.Backward(m.memory.Said) {
		if !seen[said] {
			seen[said] = true
			choices = append(choices, choice{line(said, 400), "", i})
		}
	}
	if len(choices) == 0 {
		return m.tell(faint, "No earlier prompts.")
	}
	m.over = newPicker("earlier prompts", choices, 0, func(m *root, i int) tea.Cmd {
		m.now.input.set(m.memory.Said[i], len(m.memory.Said[i]))
		return m.edited()
	})
	return nil
}

type editedMsg struct {
	screen *screen
	path   string
	err    error
}

// openEditor lets the user write the prompt in his own editor.
func (m *root) openEditor() tea.Cmd {
	name := ""
	for _, v := range []string{"VISUAL", "EDITOR"} {
		for _, one := range m.o.Env {
			if said, ok := strings.CutPrefix(one, v+"="); ok && name == "" {
				name = strings.TrimSpace(said)
			}
		}
	}
	if name == "" {
		return m.tell(warn, "No editor is set. Try: export EDITOR=vi")
	}
	f, err := os.CreateTemp("", "ramet-prompt-*.md")
	if err != nil {
		return m.tell(bad, explain(err))
	}
	if _, err = f.WriteString(m.now.input.Text()); err == nil {
		err = f.Close()
	}
	if err != nil {
		os.Remove(f.Name())
		return m.tell(bad, explain(err))
	}
	s := m.now
	// As git does it: the shell reads words and quotes of the setting.
	editor, err := launch.Command(context.Background(), launch.Program{Purpose: launch.Editor,
		Command: sandbox.Command{Args: []string{"sh", "-c", name + ` "$@"`, name, f.Name()}}})
	if err != nil {
		os.Remove(f.Name())
		return m.tell(bad, explain(err))
	}
	return m.terminal.runCommand(editor, func(err error) tea.Msg { return editedMsg{s, f.Name(), err} })
}

// apply takes what the editor left; where it failed, the prompt stays as it was.
func (msg editedMsg) apply(m *root) tea.Cmd {
	defer os.Remove(msg.path)
	if msg.err != nil {
		return m.tell(bad, "The editor failed: "+msg.err.Error())
	}
	b, err := os.ReadFile(msg.path)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	said := strings.TrimRight(string(b), "\n")
	msg.screen.input.set(said, len(said))
	return m.edited()
}

// key recalls a former prompt where the cursor stands at the edge.
func (p *past) key(m *root, name string) bool {
	in := &m.now.input
	said := m.memory.Said
	switch {
	case name == "up" && in.atTop() && p.at > 0 && p.at <= len(said):
		if p.at == len(said) {
			p.draft = in.Text()
		}
		p.at--
	case name == "down" && in.atBottom() && p.at < len(said):
		p.at++
	default:
		return false
	}
	recalled := p.draft
	if p.at < len(said) {
		recalled = said[p.at]
	}
	in.set(recalled, len(recalled))
	m.dirty = true
	return true
}

type pastedMsg struct {
	path string
	err  error
}

// pasteImage asks for the image on the clipboard: terminals paste texts only.
func (m *root) pasteImage() tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	if workspace == nil {
		return nil
	}
	return func() tea.Msg {
		path, err := workspace.Clipboard(ctx)
		return pastedMsg{path, err}
	}
}

// apply puts it into the prompt, as a file that is named.
func (msg pastedMsg) apply(m *root) tea.Cmd {
	if msg.err != nil {
		return m.tell(warn, explain(msg.err))
	}
	m.now.input.paste(session.Mention(msg.path))
	m.typing()
	return m.edited()
}
