package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/core/trust"
)

// What a project's server loads counts in trust with its bytes, also where a variable names it.
func TestTrustCoversTheFilesOfAServer(t *testing.T) {
	project := t.TempDir()
	for name, text := range map[string]string{ProjectFile: `{"mcpServers":{"a":{"command":"node","args":["dist/server"],"env":{"NODE_OPTIONS":"--require ./early.js"}}}}`,
		"dist/server.js": "", "early.js": "", "other.js": ""} {
		file := filepath.Join(project, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	ground, err := trust.Open(project)
	if err != nil {
		t.Fatal(err)
	}
	defer ground.Close()
	found, err := Source().Find(ground)
	var paths []string
	for _, thing := range found {
		paths = append(paths, thing.Path)
	}
	if got := strings.Join(paths, " "); err != nil || got != "dist/server.js early.js" {
		t.Errorf("%q %v", got, err)
	}
}
