package tui

import (
	"context"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/session"
)

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
