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

// A link that is swapped after the check starts nothing else: what was checked is started.
func TestTheProgramThatWasCheckedIsStarted(t *testing.T) {
	project := t.TempDir()
	link := filepath.Join(project, "x")
	for name, text := range map[string]string{"good": "#!/bin/sh\ntouch ran-good\n", "evil": "#!/bin/sh\ntouch ran-evil\n"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("good", link); err != nil {
		t.Fatal(err)
	}
	s := Server{Name: "s", Project: true, Command: []string{"./x"}, Dir: project, Env: os.Environ(), Check: func([]string) error {
		return errors.Join(os.Remove(link), os.Symlink("evil", link))
	}}
	p := &Pool{Cache: t.TempDir(), Servers: []Server{s}}
	if _, err := p.connect(t.Context(), t.Context(), s); err == nil {
		t.Error("a script answers")
	}
	_, good := os.Stat(filepath.Join(project, "ran-good"))
	_, evil := os.Stat(filepath.Join(project, "ran-evil"))
	if good != nil || evil == nil {
		t.Errorf("good: %v, evil: %v", good, evil)
	}
}
