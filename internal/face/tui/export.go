package tui

import (
	"context"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/durable"
)

func (m *root) export(title, path string) tea.Cmd {
	if path == "" {
		path = "ramet-" + m.agents.label(m.now.agent) + "-" + m.o.Now().Format("20060102-150405") + ".md"
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.o.Project, path)
	}
	format := "md"
	for _, other := range []string{"jsonl", "html"} {
		if strings.HasSuffix(path, "."+other) {
			format = other
		}
	}
	me := string(m.now.agent)
	return m.work(title, func(ctx context.Context, workspace Workspace) (string, error) {
		said, err := workspace.Command(ctx, "export", me, "--format", format)
		if err != nil {
			return "", err
		}
		return "Written to " + path, durable.CreateFile(path, []byte(said), 0o600)
	})
}
