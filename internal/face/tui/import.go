package tui

import (
	tea "charm.land/bubbletea/v2"

	"ramet/internal/operation/session"
)

// bringIn lists sessions of other programs, or imports them. A path is meant from the project.
func (m *root) bringIn(title string, c session.Command) tea.Cmd {
	args := []string{"import"}
	if c.Values["all"] != "" {
		args = append(args, "--all")
	}
	if path := c.Values["path"]; path != "" {
		args = append(args, "--", path)
	}
	return m.run(title, args...)
}
