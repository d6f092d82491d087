package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/operation/session"
)

// goOnAll takes up everything that was interrupted, those below first: who waits for them
// finds them at work.
func (m *root) goOnAll() tea.Cmd {
	if m.workspace == nil || m.agents == nil {
		return nil
	}
	var cut []agent.Agent
	for _, a := range m.agents.All {
		if a.Status == agent.Running && m.agents.States[a.ID].Resumes() && !strings.HasPrefix(a.Name, session.RunName) &&
			!m.occupied(m.screen(a.ID)) {
			cut = append(cut, a)
		}
	}
	if len(cut) == 0 {
		return m.tell(plain, "Nothing was interrupted.")
	}
	slices.SortStableFunc(cut, func(a, b agent.Agent) int { return cmp.Compare(b.Depth, a.Depth) })
	cmds := []tea.Cmd{m.tell(plain, "Resuming "+text.Count(len(cut), "agent"))}
	for _, a := range cut {
		cmds = append(cmds, m.begin(m.screen(a.ID), ""))
	}
	return tea.Batch(cmds...)
}
