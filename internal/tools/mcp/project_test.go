package mcp

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

func TestProjectsNameServers(t *testing.T) {
	got := testkit.Must(ParseProject([]byte(`{"mcpServers": {
		"My Server!": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
		"my_server": {"type": "http", "url": "https://x"},
		"old": {"type": "sse", "url": "https://x"},
		"none": {}, "odd": {"command": 3}, "__": {"command": "a"}, "file": {"url": "file:///etc"}
	}, "other": 1}`)))(t)
	var said []string
	for _, n := range got {
		said = append(said, n.Name+":"+map[bool]string{true: "yes", false: "no"}[n.Why == ""])
	}
	if s := strings.Join(said, " "); s != "my_server:yes server:yes file:no my_server2:yes none:no odd:no old:no" {
		t.Error(s)
	}
	if _, err := ParseProject([]byte(`{"mcpServers": []}`)); err == nil {
		t.Error("a list is taken")
	}
	if got, err := ParseProject([]byte(" \n")); err != nil || got != nil {
		t.Error(got, err)
	}
}

func TestVariablesAreExpanded(t *testing.T) {
	lookup := func(n string) (string, bool) {
		v, ok := map[string]string{"A": "1", "EMPTY": ""}[n]
		return v, ok
	}
	for in, want := range map[string]string{
		"$A ${A}x $": "1 1x $", "${B:-two}": "two", "${A:-two}": "1", "a$B-c": "a-c [B]", "${EMPTY:-e}$EMPTY": "e", "${": "${", "$1": "$1",
	} {
		got, missing := Expand(in, lookup)
		if len(missing) > 0 {
			got += " [" + strings.Join(missing, " ") + "]"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// What a project's server loads counts in trust with its bytes, also where a variable names it.
func TestTrustCoversTheFilesOfAServer(t *testing.T) {
	project := t.TempDir()
	for name, text := range map[string]string{ProjectFile: `{"mcpServers":{"a":{"command":"node","args":["dist/server"],"env":{"NODE_OPTIONS":"--require ./early.js"}}}}`,
		"dist/server.js": "", "early.js": "", "other.js": ""} {
		file := filepath.Join(project, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
	}
	ground := testkit.Must(trust.Open(project))(t)
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

// A link that is swapped after the check starts nothing else: what was checked is started, in the
// project or elsewhere.
func TestTheProgramThatWasCheckedIsStarted(t *testing.T) {
	for _, goodIn := range []string{"", t.TempDir()} {
		project := t.TempDir()
		link, good, evil := filepath.Join(project, "x"), filepath.Join(cmp.Or(goodIn, project), "good"), filepath.Join(project, "evil")
		for _, name := range []string{good, evil} {
			testkit.OK(t, os.WriteFile(name, []byte("#!/bin/sh\ntouch ran-"+filepath.Base(name)+"\n"), 0o700))
		}
		testkit.OK(t, os.Symlink(good, link))
		s := Server{Name: "s", Project: true, Command: []string{"./x"}, Dir: project, Env: os.Environ(), Check: func(file string, _ []string) error {
			if file != good {
				t.Errorf("%s is checked", file)
			}
			return errors.Join(os.Remove(link), os.Symlink(evil, link))
		}}
		p := &Pool{Cache: t.TempDir(), Servers: []Server{s}}
		if _, err := p.connect(t.Context(), t.Context(), s); err == nil {
			t.Error("a script answers")
		}
		_, ranGood := os.Stat(filepath.Join(project, "ran-good"))
		_, ranEvil := os.Stat(filepath.Join(project, "ran-evil"))
		if ranGood != nil || ranEvil == nil {
			t.Errorf("good: %v, evil: %v", ranGood, ranEvil)
		}
	}
}
