package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/llm"
)

func (m *root) setModel(name string) tea.Cmd {
	if name == "" {
		return m.openModels()
	}
	model, err := llm.ParseRef(name)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	return m.useModel(model)
}

func (m *root) useModel(model llm.Ref) tea.Cmd {
	a, ok := m.agent()
	if !ok {
		return nil
	}
	found, err := m.workspace.Model(a, model)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	m.now.model, m.dirty = model, true
	m.models[a.ID] = chosen{Model: found}
	return m.tell(good, "from now on this agent asks "+found.Ref.String())
}

// openModels lets the user choose a model.
func (m *root) openModels() tea.Cmd {
	usable := append(m.workspace.Usable(), m.found...)
	var choices []choice
	at := 0
	for i, model := range usable {
		extra := ""
		if model.Context > 0 {
			extra = tokens(model.Context)
		}
		if model.Ref == m.models[m.now.agent].Ref {
			at = i
		}
		choices = append(choices, choice{line(model.Ref.String(), 60), extra, i})
	}
	m.over = newPicker("model", choices, at, func(m *root, i int) tea.Cmd { return m.useModel(usable[i].Ref) })
	return nil
}
