package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/operation/session"
)

// bringIn lists sessions of other programs, or imports them. A path is meant from the project.
func (m *root) bringIn(title string, c session.Command) tea.Cmd {
	args := []string{"import"}
	if c.All {
		args = append(args, "--all")
	}
	if c.Path != "" {
		args = append(args, "--", c.Path)
	}
	return m.run(title, args...)
}
