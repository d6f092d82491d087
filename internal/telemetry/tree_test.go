package telemetry

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func leaf(run, parent string, second int) Record {
	return Record{EventID: EventID(run), RunID: run, ParentRunID: parent, JobType: Worker, StartTime: noon.Add(time.Duration(second) * time.Second)}
}

func drawn(b Branch) string {
	var kids []string
	for _, k := range b.Children {
		kids = append(kids, drawn(k))
	}
	if len(kids) == 0 {
		return b.RunID
	}
	return b.RunID + "(" + strings.Join(kids, " ") + ")"
}

func TestGrow(t *testing.T) {
	all := []Record{leaf("d", "b", 9), leaf("b", "a", 2), leaf("c", "a", 1), leaf("e", "b", 3), leaf("f", "b", 3), leaf("x", "nowhere", 0), leaf("a", "", 0)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		tree := BuildTree(leaf("a", "", 0), all)
		if got := drawn(tree); got != "a(c b(e f d))" || tree.Sums.Records != 6 {
			t.Error(got, tree.Sums)
		}
	}
	circle := []Record{leaf("a", "c", 0), leaf("b", "a", 0), leaf("c", "b", 0), leaf("s", "s", 0)}
	if got := drawn(BuildTree(circle[0], circle)); got != "a(b(c))" {
		t.Error(got)
	}
	if got := drawn(BuildTree(circle[3], circle)); got != "s" {
		t.Error(got)
	}
	if text, err := json.Marshal(BuildTree(leaf("a", "", 0), nil)); err != nil || !strings.Contains(string(text), `"children":[]`) {
		t.Errorf("%s, %v", text, err)
	}
}

// A chain that is deeper than anybody draws loses nothing.
func TestDeepChain(t *testing.T) {
	var all []Record
	for i := range 5000 {
		all = append(all, leaf(fmt.Sprint("r", i+1), fmt.Sprint("r", i), i))
	}
	tree := BuildTree(leaf("r0", "", 0), all)
	if tree.Sums.Records != 5001 {
		t.Error(tree.Sums)
	}
	levels := 1
	for b := &tree; len(b.Children) > 0; b = &b.Children[0] {
		levels++
	}
	if levels != MaxLevels {
		t.Errorf("%d levels", levels)
	}
}

func TestSums(t *testing.T) {
	duration := int64(5)
	call := func(metrics string) Record {
		return Record{JobType: LLMCall, DurationMS: &duration, Metrics: json.RawMessage(metrics)}
	}
	for metrics, want := range map[string]Sums{
		`{"input_tokens":1,"output_tokens":2,"api_cost_usd":0.5}`:         {InputTokens: 1, OutputTokens: 2, TotalTokens: 3, CostUSD: 0.5},
		`{"input_tokens":1,"output_tokens":2,"total_tokens":9}`:           {InputTokens: 1, OutputTokens: 2, TotalTokens: 9},
		`{"input_tokens":"1","output_tokens":-2,"total_tokens":null}`:     {},
		`{"x":{"input_tokens":7},"output_tokens":[1],"input_tokens":2.9}`: {InputTokens: 2, TotalTokens: 2},
		`{"input_tokens":1e300}`:                                          {InputTokens: 1 << 53, TotalTokens: 1 << 53},
		`{"api_cost_usd":1e400}`:                                          {}, `[]`: {}, `{`: {}, ``: {},
	} {
		want.Records, want.Calls, want.DurationMS = 1, 1, 5
		if got := SumsOf(call(metrics)); got != want {
			t.Errorf("%s: got %+v, want %+v", metrics, got, want)
		}
	}
	launch := call(`{"input_tokens":1}`)
	launch.JobType = Launch
	if got := SumsOf(launch); got != (Sums{Records: 1}) {
		t.Errorf("a launch counts what its calls count: %+v", got)
	}
	s := Sums{TotalTokens: math.MaxInt64 - 1, CostUSD: math.MaxFloat64}
	s.Add(Sums{TotalTokens: 5, CostUSD: math.MaxFloat64})
	if s.TotalTokens != math.MaxInt64 || math.IsInf(s.CostUSD, 0) {
		t.Errorf("%+v", s)
	}
}
