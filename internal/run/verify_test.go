package run_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// sample is a log of n events with payloads of all sorts, except fractions: the
// independent verifier is short and does not format them.
func sample(n int) [][]byte {
	payloads := []string{`{}`, `{"n":12,"text":"ü \" \\ \n \u0001 😀"}`, "{\"a\":[null,true,{\"b\":-3}],\"é\":1,\"😀\":2,\"\ufb33\":3}"}
	var lines [][]byte
	prev := ""
	for i := range n {
		d := runtest.Draft(i, "SAMPLE", payloads[i%len(payloads)])
		if i%4 == 3 {
			d.ParentSpan = d.SpanID
		}
		e := d.Link(prev)
		lines = append(lines, e.Line())
		prev = e.Hash
	}
	return lines
}

// verdict is ours, in the words of the independent verifier, without reasons.
func verdict(log []byte) string {
	lines := bytes.Split(log, []byte("\n"))
	last := len(lines) - 1
	if len(lines[last]) > 0 {
		return fmt.Sprintf("broken %d", last+1)
	}
	var chain *run.Chain
	tree := &run.Tree{}
	for i, line := range lines[:last] {
		e, err := run.ParseLine(line)
		if err == nil && chain == nil {
			chain = run.NewChain(e.RunID, "")
		}
		if err == nil {
			err = chain.Follow(e)
		}
		if err != nil || !e.Intact() {
			return fmt.Sprintf("broken %d", i+1)
		}
		tree.Add(line)
	}
	return fmt.Sprintf("ok %d %s", tree.Size(), tree.Root())
}

// independent asks the other program about many logs at once.
func independent(t *testing.T, logs [][]byte) []string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is missing: apt-get install python3")
	}
	args := []string{"testdata/verify.py"}
	for i, log := range logs {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("events%d.ndjson", i))
		testkit.OK(t, os.WriteFile(file, log, 0o600))
		args = append(args, file)
	}
	cmd := exec.CommandContext(t.Context(), python, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output() // 1 when a log is broken
	verdicts := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if stderr.Len() > 0 || len(verdicts) != len(logs) {
		t.Fatalf("%s: %d verdicts: %s", cmd, len(verdicts), stderr.Bytes())
	}
	for i, v := range verdicts {
		if words := strings.Fields(v); words[0] == "broken" {
			verdicts[i] = strings.Join(words[:2], " ")
		}
	}
	return verdicts
}

func TestAnIndependentVerifierAgrees(t *testing.T) {
	join := func(lines [][]byte) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }
	change := func(n int, old, new string) []byte {
		lines := sample(9)
		lines[n-1] = []byte(strings.Replace(string(lines[n-1]), old, new, 1))
		return join(lines)
	}
	rehash := func(n int, change func(*run.Event)) []byte {
		lines := sample(9)
		e := testkit.Must(run.ParseLine(lines[n-1]))(t)
		change(&e)
		e.Hash = e.Sum()
		lines[n-1] = e.Line()
		return join(lines)
	}
	good := sample(9)
	cases := []struct {
		name string
		log  []byte
		want string
	}{
		{"empty", nil, "ok 0"},
		{"one event", join(sample(1)), "ok 1"},
		{"two events", join(sample(2)), "ok 2"},
		{"nine events", join(good), "ok 9"},
		{"a hundred events", join(sample(100)), "ok 100"},
		{"payload changed", change(2, `"n":12`, `"n":13`), "broken 2"},
		{"time changed", change(5, `"ts":"2026`, `"ts":"2027`), "broken 5"},
		{"type changed", change(9, `"SAMPLE"`, `"EXAMPLE"`), "broken 9"},
		{"id changed", change(4, `"event_id":"0`, `"event_id":"1`), "broken 4"},
		{"hash changed", change(1, `"event_hash":"`, `"event_hash":"0`), "broken 1"},
		{"changed and hashed again", rehash(3, func(e *run.Event) { e.Payload = []byte(`{}`) }), "broken 4"},
		{"last one changed and hashed again", rehash(9, func(e *run.Event) { e.Payload = []byte(`{}`) }), "ok 9"},
		{"span changed, which the chain does not cover", change(3, `"span_id":"0`, `"span_id":"1`), "ok 9"},
		{"another run's line", change(6, runtest.RunID, "other"), "broken 6"},
		{"line missing", join(append(good[:3:3], good[4:]...)), "broken 4"},
		{"first line missing", join(good[1:]), "broken 1"},
		{"lines swapped", join([][]byte{good[0], good[2], good[1]}), "broken 2"},
		{"line twice", join([][]byte{good[0], good[1], good[1]}), "broken 3"},
		{"id twice", rehash(9, func(e *run.Event) { e.ID = "00000000-0000-7000-8000-000000000000" }), "broken 9"},
		{"hash stripped", change(7, `"prev_hash":"`, `"prev_hash_":"`), "broken 7"},
		{"space", change(7, `,"ts"`, `, "ts"`), "broken 7"},
		{"another escape", change(2, `ü`, `\u00fc`), "broken 2"},
		{"keys out of order", change(3, "\"😀\":2,\"\ufb33\":3", "\"\ufb33\":3,\"😀\":2"), "broken 3"},
		{"CRLF", change(4, `"}`, "\"}\r"), "broken 4"},
		{"no end", bytes.TrimSuffix(join(good), []byte("\n")), "broken 9"},
		{"empty line", append(join(good), '\n'), "broken 10"},
	}
	logs := make([][]byte, len(cases))
	for i, c := range cases {
		logs[i] = c.log
	}
	for i, theirs := range independent(t, logs) {
		c := cases[i]
		ours := verdict(c.log)
		if !strings.HasPrefix(ours+" ", c.want+" ") {
			t.Errorf("%s: we say %s, want %s", c.name, ours, c.want)
		}
		if theirs != ours {
			t.Errorf("%s: we say %s, the independent verifier %s", c.name, ours, theirs)
		}
	}
}
