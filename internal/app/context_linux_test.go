package app_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
)

// A model with a window that its server enforces works for many steps on the real binary:
// alone, as a child that inherited nine tenths of the window, as a worker of a run. All of
// them end well, and every request holds the assignment.

// manySteps are enough to fill the window several times.
const manySteps = 80

func TestLongWorkSoak(t *testing.T) {
	testkit.SoakOnly(t)
	const steps = 500
	t.Run("alone", func(t *testing.T) { workAlone(t, steps) })
	t.Run("child", func(t *testing.T) { workInAChild(t, steps) })
	t.Run("run", func(t *testing.T) { workInARun(t, steps) })
}

// strictProject is a project with a file to read, and a server that enforces a window.
func strictProject(t *testing.T, window int, play func(llmtest.StrictAsked) llmtest.StrictSaid) (*errand, *llmtest.StrictServer) {
	t.Helper()
	e := newErrand(t)
	server := &llmtest.StrictServer{Window: window, Play: play}
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	e.env = append(e.env, "VLLM_BASE_URL="+srv.URL, "RAMET_MODEL=vllm/strict")
	if err := os.WriteFile(filepath.Join(e.dir, "f.txt"), []byte(manyLines(2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	return e, server
}

func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of a file that takes its room in a context\n", i)
	}
	return b.String()
}

// reads is one call that reads a part of the file.
func reads(n int) llmtest.StrictCall {
	return llmtest.StrictCall{Name: "read", Args: fmt.Sprintf(`{"path": "f.txt", "offset": %d, "limit": 50}`, 1+n*7%50)}
}

// worked checks that requests of one agent all hold its assignment, and that room was made.
func worked(t *testing.T, asked []llmtest.StrictAsked, assignment string, steps int) {
	t.Helper()
	summaries := 0
	for i, a := range asked {
		if !slices.ContainsFunc(a.Users, func(said string) bool { return strings.Contains(said, assignment) }) {
			t.Fatalf("request %d of %d does not hold the assignment:\n%.2000s", i, len(asked), a.Body)
		}
		if a.Summary() {
			summaries++
		}
	}
	if len(asked)-summaries < steps || summaries == 0 {
		t.Errorf("%d requests, %d of them for summaries", len(asked), summaries)
	}
}

func TestLongWorkAlone(t *testing.T) {
	t.Parallel()
	workAlone(t, manySteps)
}

func workAlone(t *testing.T, last int) {
	const assignment = "Read the whole file, again and again. The word is PERIWINKLE."
	n := 0
	e, server := strictProject(t, 16384, func(a llmtest.StrictAsked) llmtest.StrictSaid {
		switch {
		case a.Summary():
			return llmtest.StrictSaid{Text: "it was read a few times"}
		case n == last:
			return llmtest.StrictSaid{Text: "all read"}
		case n == last/2:
			n++
			return llmtest.StrictSaid{Calls: []llmtest.StrictCall{{Name: "recall", Args: `{"query": "line 3 of a file"}`}}}
		}
		n++
		return llmtest.StrictSaid{Calls: []llmtest.StrictCall{reads(n)}}
	})
	got := e.ramet([]string{fmt.Sprintf("RAMET_STEPS=%d", 2*last)}, "exec", assignment)
	if got.code != 0 || got.out != "all read\n" || server.Refused() > 0 {
		t.Fatalf("%+v, %d refused", got, server.Refused())
	}
	asked := server.Requests()
	worked(t, asked, assignment, last)
	found := false
	for _, a := range asked {
		found = found || strings.HasPrefix(a.Last, "entry ") && strings.Contains(a.Last, ", tool result: ")
	}
	if !found {
		t.Error("nothing was recalled")
	}
	if got := e.ramet(nil, "verify"); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

func TestLongWorkInAChildThatInheritedAFullContext(t *testing.T) {
	t.Parallel()
	workInAChild(t, manySteps)
}

func workInAChild(t *testing.T, last int) {
	const window, task = 32768, "CHILD-TASK: read the file to its end, many times."
	var n, told int
	inherited := 0
	e, server := strictProject(t, window, func(a llmtest.StrictAsked) llmtest.StrictSaid {
		child := slices.Contains(a.Users, task)
		switch {
		case a.Summary():
			return llmtest.StrictSaid{Text: "a part was read"}
		case child && n == last:
			return llmtest.StrictSaid{Text: "the child has read it"}
		case child:
			n++
			return llmtest.StrictSaid{Calls: []llmtest.StrictCall{reads(n)}}
		case told == 0 && a.Tokens < window*70/100:
			return llmtest.StrictSaid{Calls: []llmtest.StrictCall{reads(a.Tokens)}}
		case told == 0:
			told = 1
			// With these results nine tenths are full, and the child begins there.
			inherited = a.Tokens
			return llmtest.StrictSaid{Calls: []llmtest.StrictCall{reads(1), reads(2), reads(3), reads(4), reads(5), reads(6), reads(7), reads(8),
				{Name: "fork", Args: fmt.Sprintf(`{"prompt": %q, "name": "kid"}`, task)}}}
		case told == 1:
			told = 2
			return llmtest.StrictSaid{Calls: []llmtest.StrictCall{{Name: "wait", Args: `{"timeout": 600}`}}}
		}
		return llmtest.StrictSaid{Text: "the child is done"}
	})
	got := e.ramet([]string{fmt.Sprintf("RAMET_STEPS=%d", 2*last)}, "exec", "Let a child do it.")
	if got.code != 0 || got.out != "the child is done\n" {
		t.Fatalf("%+v, %d refused", got, server.Refused())
	}
	var asked []llmtest.StrictAsked
	for _, a := range server.Requests() {
		if slices.Contains(a.Users, task) {
			asked = append(asked, a)
		}
	}
	if server.Refused() > 0 || inherited < window*70/100 {
		t.Errorf("%d requests were refused; the parent had %d tokens", server.Refused(), inherited)
	}
	worked(t, asked, task, last)
}

func TestLongWorkInAWorkerOfARun(t *testing.T) {
	t.Parallel()
	workInARun(t, manySteps)
}

func workInARun(t *testing.T, last int) {
	const assignment = "WORKER-ORDER: read the file to its end, many times, and say OK."
	n := 0
	e, server := strictProject(t, 16384, func(a llmtest.StrictAsked) llmtest.StrictSaid {
		switch {
		case a.Summary():
			return llmtest.StrictSaid{Text: "a part was read"}
		case n == last:
			return llmtest.StrictSaid{Text: "OK, read"}
		case n == 0: // the folder of an item is empty
			n++
			return llmtest.StrictSaid{Calls: []llmtest.StrictCall{{Name: "write", Args: fmt.Sprintf(`{"path": "f.txt", "content": %q}`, manyLines(100))}}}
		}
		n++
		return llmtest.StrictSaid{Calls: []llmtest.StrictCall{reads(n)}}
	})
	recipe := `name: long
description: long work
states:
  DRAFTING: [reader]
workers:
  reader:
    prompt: "` + assignment + `"
    tools: [read, write]
    outputs: [{path: artifacts/a.txt, answer: true}]
`
	path := filepath.Join(e.dir, "long.yaml")
	if err := os.WriteFile(path, []byte(recipe), 0o600); err != nil {
		t.Fatal(err)
	}
	got := e.ramet([]string{fmt.Sprintf("RAMET_STEPS=%d", 2*last)}, "run", "start", "--recipe", path, "--run-id", "long")
	if got.code != 0 {
		t.Fatalf("%+v, %d refused", got, server.Refused())
	}
	text, err := os.ReadFile(filepath.Join(e.dir, ".ramet", "runs", "long", "artifacts", "a.txt"))
	if err != nil || !strings.HasPrefix(string(text), "OK, read") {
		t.Errorf("%q %v", text, err)
	}
	worked(t, server.Requests(), assignment, last)
}
