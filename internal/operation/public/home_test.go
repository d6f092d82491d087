package public_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/operation/public"
)

var begun = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// forest makes facts of lines "name parent word"; a word in brackets is of the dead.
func forest(lines ...string) public.HomeFacts {
	f := public.HomeFacts{States: map[id.Agent]state.State{}, Words: map[id.Agent]registry.Words{}, Asks: map[id.Agent]string{}, Runs: map[id.Agent]public.HomeRun{}}
	for i, l := range lines {
		w := strings.Fields(l)
		a := agent.Agent{ID: id.Agent(w[0]), Name: w[0], Status: agent.Running, CreatedAt: begun.Add(time.Duration(i) * time.Minute), Spent: agent.Spending{Tokens: 10, Cost: 1}}
		if w[1] != "-" {
			a.Parent = id.Agent(w[1])
		}
		if w[2] == "dead" {
			a.Status = agent.Dead
		}
		f.All = append(f.All, a)
		f.States[a.ID] = state.State{Word: state.Word(w[2])}
		f.Words[a.ID] = registry.Words{At: a.CreatedAt}
	}
	return f
}

func drawn(t public.HomeTable) string {
	var out []string
	last := public.HomeSection("")
	for _, r := range t.Rows {
		if r.Group != last {
			out, last = append(out, string(r.Group)), r.Group
		}
		branch := ""
		if r.Indent > 0 {
			branch = strings.Repeat("  ", r.Indent-1) + map[bool]string{false: "├ ", true: "└ "}[r.Last]
		}
		line := " " + strings.Join(append(r.Path, branch+r.Name), " › ")
		if r.Folded > 0 {
			line += fmt.Sprintf(" +%d", r.Folded)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestRowsStandByWhatAPersonCanDo(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string
		want string
	}{
		{"one of each", []string{"zero - idle", "a zero asks", "b zero failed", "c zero interrupted", "d zero working", "e zero waits", "f zero done"},
			"needs you\n zero › a\n zero › b\n zero › c\nworking\n zero › d\n zero › e\ndone\n zero › f\nidle\n zero"},
		{"a family that works", []string{"zero - working", "a zero working", "b zero working", "c a working", "d a working"},
			"working\n zero\n ├ a\n   ├ c\n   └ d\n └ b"},
		{"the newest of those that are done come first, with their children", []string{"zero - working", "a zero done", "b zero done", "c a done"},
			"working\n zero\ndone\n zero › b\n zero › a\n └ c"},
		{"the dead are not shown; their children hang under the living above", []string{"zero - idle", "a zero dead", "b a idle"},
			"idle\n zero\n └ b"},
		{"a run is one row, which works as long as its own do", []string{"zero - idle", "run-x zero idle", "w1 run-x working", "w2 run-x working", "s w1 working"},
			"working\n zero › run-x +3\nidle\n zero"},
		{"who needs a person is not folded", []string{"zero - idle", "run-x zero working", "w1 run-x asks", "w2 run-x working"},
			"needs you\n zero › run-x › w1\nworking\n zero › run-x +1\nidle\n zero"},
		{"far down only the nearest are named", []string{"zero - idle", "a zero idle", "b a idle", "c b idle", "d c idle", "e d asks"},
			"needs you\n … › a › b › c › d › e\nidle\n zero\n └ a\n   └ b\n     └ c\n       └ d"},
	} {
		if got := drawn(public.MakeHome(forest(c.in...))); got != c.want {
			t.Errorf("%s:\n%s\nwanted\n%s", c.name, got, c.want)
		}
	}
}

func TestARowTellsWhatIsKnown(t *testing.T) {
	f := forest("zero - working", "kid zero failed", "far zero working")
	f.States["zero"] = state.State{Word: state.Working, Detail: state.Runs("bash")}
	f.States["kid"] = state.State{Word: state.Failed, Detail: "PROVIDER_AUTH: no key"}
	f.Words["zero"] = registry.Words{Asked: "find it", AskedAt: begun.Add(time.Hour), Said: "I look", At: begun.Add(2 * time.Hour)}
	f.Asks["far"] = "run `rm -r x`"
	f.All[0].Budget.Cost = agent.AtMost(5)
	f.All[1].Provider, f.All[1].Model = "driver", "codex/gpt"
	got := public.MakeHome(f)
	rows := map[id.Agent]public.HomeEntry{}
	for _, r := range got.Rows {
		rows[r.ID] = r
	}
	if r := rows["zero"]; r.Does != "runs" || r.Asked != "find it" || r.Said != "I look" || !r.Since.Equal(begun.Add(time.Hour)) || !r.Ticks || r.Below != 2 {
		t.Errorf("who works: %+v", r)
	}
	if r := rows["kid"]; r.Does != "failed" || r.Said != "PROVIDER_AUTH: no key" || r.Driver != "codex" || r.Model != "" || r.Ticks {
		t.Errorf("who failed: %+v", r)
	}
	if r := rows["far"]; r.Group != public.NeedsYou || r.Does != "asks" || r.Said != "run `rm -r x`" {
		t.Errorf("who asks: %+v", r)
	}
	if left, ok := got.Budget.Cost.Get(); !ok || left != 5 || got.Spent.Cost != 3 || got.Agents != 3 || got.Asking != 1 || got.Counts[public.NeedsYou] != 2 {
		t.Errorf("all of it: %+v", got)
	}
}
