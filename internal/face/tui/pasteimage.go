package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/operation/session"
)

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
