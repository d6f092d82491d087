package mcp

import (
	"strings"
	"testing"
)

func TestProjectsNameServers(t *testing.T) {
	got, err := ParseProject([]byte(`{"mcpServers": {
		"My Server!": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
		"my_server": {"type": "http", "url": "https://x"},
		"old": {"type": "sse", "url": "https://x"},
		"none": {}, "odd": {"command": 3}, "__": {"command": "a"}, "file": {"url": "file:///etc"}
	}, "other": 1}`))
	if err != nil {
		t.Fatal(err)
	}
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
