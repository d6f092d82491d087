package httpapi

import (
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

// A fork over HTTP makes a child by a definition, once a person accepted it.
func TestAForkByADefinition(t *testing.T) {
	f := newFloor(t, `{"repeat": true, "steps": [{"text": "ok"}]}`)
	project := t.TempDir()
	f.Workspace.Place.Project = project
	file := filepath.Join(project, ".agents", "agents", "reviewer.md")
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
	testkit.OK(t, os.WriteFile(file, []byte("---\ndescription: reviews\ntools: Read\n---\nYou review.\n"), 0o644))
	s := opened(t, f)
	s.ask(t, "POST", "/api/v1/agents/0/fork", map[string]string{"name": "rev", "agent": "reviewer"}).refused(t, 404, "NOT_FOUND")
	gate := trust.Gate{Home: f.home, Project: project, Sources: kit.Sources()}
	found := testkit.Must(gate.Review())(t)
	testkit.OK(t, gate.Accept(t.Context(), found))
	var rev AgentNow
	s.good(t, "POST", "/api/v1/agents/0/fork", map[string]string{"name": "rev", "role": "reviewer"}, 201, &rev)
	limits, err := registry.Limits(t.Context(), f.store, rev.UUID)
	if err != nil || len(limits) != 1 || limits[0].By != "agent reviewer" {
		t.Errorf("%v %v", limits, err)
	}
}
