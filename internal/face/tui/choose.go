package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
)

func (m *root) setModel(name string) tea.Cmd {
	if name == "" {
		return m.openModels()
	}
	model, err := catalog.Parse(name)
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
	return m.tell(good, "This agent now uses "+found.Ref.String())
}

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

// toldModel takes that an agent was told a model, here or elsewhere: it is the agent's
// now, and a choice that was made here has been carried out, or was overtaken.
func (m *root) toldModel(s *screen, e history.Entry) {
	if e.Kind != history.Command {
		return
	}
	told, err := e.Decode()
	a, known := m.agents.get(s.agent)
	if err != nil || told.Command != registry.ModelCommand || !known || m.workspace == nil {
		return
	}
	a.Provider, a.Model = told.Provider, told.Model
	s.model, m.dirty = llm.Ref{}, true
	found, err := m.workspace.Model(a, llm.Ref{})
	m.models[s.agent] = chosen{found, err}
}
