package vendors

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the tables into docs/models.md")

// recordings are read once. Without a network, and with nothing in the module
// cache, there are none to be judged.
func recordings(t *testing.T) []Recording {
	t.Helper()
	all, err := read()
	if err != nil {
		t.Skipf("the recordings are not at hand: %v", err)
	}
	return all
}

var read = sync.OnceValues(Read)

// The least that is judged: of all, and of each protocol. Bedrock's frames hold
// Anthropic's protocol, and count for it.
const leastInAll, leastOfEach = 250, 40

func TestStreamsAndRequests(t *testing.T) {
	all := recordings(t)
	stage := NewStage(all)
	defer stage.Close()
	rows, shapes := map[Protocol]*Row{}, map[string]bool{}
	for _, p := range []Protocol{Anthropic, Bedrock, Responses, Chat, Gemini} {
		rows[p] = &Row{Protocol: p, Hosts: map[string]bool{}}
	}
	for n, r := range all {
		row := rows[r.Protocol]
		row.Streams++
		row.Hosts[r.Host] = true
		ours, said := hear(t.Context(), r.Protocol, stage.Base(n))
		theirs := Judge(t.Context(), r.Protocol, stage.Base(n))
		for field, why := range ours.Differences(theirs) {
			if _, known := fault(r, field); known {
				row.Explained++
				continue
			}
			t.Errorf("%s %s (%s): %s: %s", r.Protocol, r.Name, r.Host, field, why)
		}
		if theirs.Tokens.Total > 0 {
			row.Totals++
		}
		if shape := shapeOf(r.Protocol, said); !shapes[shape] {
			shapes[shape] = true
		} else {
			continue
		}
		for _, q := range Requests(t.Context(), r, said) {
			rows[q.Protocol].Requests++
			judgeRequest(t, q)
		}
	}
	if len(all) < leastInAll {
		t.Errorf("only %d streams were judged", len(all))
	}
	for _, p := range Protocols {
		n := rows[p].Streams
		if p == Anthropic {
			n += rows[Bedrock].Streams
		}
		if n < leastOfEach {
			t.Errorf("only %d streams of %s were judged", n, p)
		}
	}
	if !t.Failed() {
		checkTable(t, Table([]Row{*rows[Anthropic], *rows[Bedrock], *rows[Responses], *rows[Chat], *rows[Gemini]}))
	}
}

func judgeRequest(t *testing.T, q Request) {
	t.Helper()
	strange, err := Strange(q.Protocol, q.Body)
	if err != nil {
		t.Errorf("%s: the SDK refuses it: %v\n%.600s", q.Name, err, q.Body)
	}
	for _, path := range strange {
		if !explained(q.Protocol, path) {
			t.Errorf("%s: %s", q.Name, path)
		}
	}
}

// The page tells what was seen.
func checkTable(t *testing.T, table string) {
	t.Helper()
	const page, begin, end = "../../../docs/models.md", "<!-- oracle -->\n", "<!-- /oracle -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the tables", page)
	}
	want := before + begin + table + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s tells something else; go test ./vendors -update. Seen:\n%s", page, table)
	}
}

// A judge that finds nothing must be able to find something.
func TestTheJudgesCanObject(t *testing.T) {
	for p, body := range map[Protocol]string{
		Anthropic: `{"model":"m","max_tokens":1,"messages":[],"colour":"red"}`,
		Responses: `{"model":"m","input":[{"type":"message","role":"user","colour":"red","content":"a"}]}`,
		Chat:      `{"model":"m","messages":[{"role":"user","content":"a"}],"colour":"red"}`,
		Gemini:    `{"contents":[{"role":"user","parts":[{"text":"a","colour":"red"}]}]}`,
	} {
		strange, err := Strange(p, []byte(body))
		if err != nil || len(strange) != 1 || !strings.HasSuffix(strange[0], "/colour") {
			t.Errorf("%s: %v %v", p, strange, err)
		}
	}
	a := Answer{Text: "a", Tokens: Tokens{Prompt: 1, Output: 2, Total: 3}}
	b := a
	b.Tokens.Total, b.Calls = 4, []Call{{"1", "x", "{}"}}
	if got := a.Differences(b); len(got) != 2 || got["Tokens"] == "" || got["Calls"] == "" {
		t.Errorf("%v", got)
	}
	if got := a.Differences(a); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
