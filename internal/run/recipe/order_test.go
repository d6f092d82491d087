package recipe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	_ "ramet/internal/testkit"
)

func levels(r *Recipe, s run.State) string {
	var out []string
	for _, level := range r.Order(s) {
		var names []string
		for _, w := range level {
			names = append(names, w.Name)
		}
		out = append(out, strings.Join(names, " "))
	}
	return strings.Join(out, " | ")
}

func TestOrder(t *testing.T) {
	r := embedded(t)
	for state, want := range map[run.State]string{run.ClonedInputs: "clone", run.Fixing: "fix | compose | judge apply", run.DraftReady: "", run.Validating: "", "NONE": ""} {
		if got := levels(r, state); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}

// chained makes a recipe of workers that need each other's files.
func chained(needs map[string][]string, lists map[run.State][]string) string {
	var b strings.Builder
	b.WriteString("name: chained\nworkers:\n")
	for _, name := range sorted(needs) {
		var in []string
		for _, other := range needs[name] {
			in = append(in, "artifacts/"+other)
		}
		fmt.Fprintf(&b, "  %s: {command: x, inputs: [%s], outputs: [artifacts/%s]}\n", name, strings.Join(in, ", "), name)
	}
	b.WriteString("states:\n")
	for _, state := range working {
		if len(lists[state]) > 0 {
			fmt.Fprintf(&b, "  %s: [%s]\n", state, strings.Join(lists[state], ", "))
		}
	}
	return b.String()
}

func sorted(m map[string][]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestWhoIsDoneAgainInFixing(t *testing.T) {
	needs := map[string][]string{"join": {}, "index": {"join"}, "fix": {"join"}, "report": {"index"}}
	lists := map[run.State][]string{run.Linking: {"index", "join"}, run.Fixing: {"fix", "index", "join", "report"}}
	// fix stands first and takes what join made before; report stands last and waits.
	if got := levels(mustParse(t, chained(needs, lists)), run.Fixing); got != "fix join | index | report" {
		t.Errorf("got %s", got)
	}
}

func TestCirclesAreNamed(t *testing.T) {
	needs := map[string][]string{"a": {"c"}, "b": {"a"}, "c": {"b"}, "d": {"a"}, "e": {}}
	_, err := Parse([]byte(chained(needs, map[run.State][]string{run.Ingested: {"e", "d", "c", "b", "a"}})))
	if !fault.Is(err, fault.InvalidRecipe) || !strings.Contains(err.Error(), "line 5: in INGESTED workers wait for each other: c → a → b → c:") {
		t.Errorf("%v", err)
	}
}

func TestOrderIsTopological(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "workers")
		needs := map[string][]string{}
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("w%d", i))
		}
		for _, name := range names {
			needs[name] = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, min(2, n), rapid.ID[string]).Draw(t, name)
		}
		list := rapid.Permutation(names).Draw(t, "list")
		text := chained(needs, map[run.State][]string{run.Drafting: list})
		circular := hasCircle(needs)
		r, err := Parse([]byte(text))
		if (err != nil) != circular {
			t.Fatalf("circle %v, but %v\n%s", circular, err, text)
		}
		if err != nil {
			return
		}
		at := map[string]int{}
		for i, level := range r.Order(run.Drafting) {
			for _, w := range level {
				if _, twice := at[w.Name]; twice {
					t.Fatalf("%s appears twice", w.Name)
				}
				at[w.Name] = i
			}
		}
		if len(at) != n {
			t.Fatalf("%d of %d workers", len(at), n)
		}
		for name, in := range needs {
			earliest := 0
			for _, other := range in {
				earliest = max(earliest, at[other]+1)
			}
			if at[name] != earliest {
				t.Fatalf("%s stands in level %d, needs %v (%v)", name, at[name], in, at)
			}
		}
	})
}

// hasCircle is the plain way: take away who needs nothing, until nobody is left. Who needs
// itself waits for itself.
func hasCircle(needs map[string][]string) bool {
	done := map[string]bool{}
	for range needs {
		for name, in := range needs {
			if !slices.ContainsFunc(in, func(other string) bool { return !done[other] }) {
				done[name] = true
			}
		}
	}
	return len(done) < len(needs)
}

func TestPatternsMeet(t *testing.T) {
	few, other := newScopeSet([]string{"a", "b"}), newScopeSet([]string{"c"})
	for _, c := range []struct {
		p    string
		ps   scopeSet
		q    string
		qs   scopeSet
		want bool
	}{
		{"work/a", nil, "work/a", nil, true},
		{"work/a", nil, "work/b", nil, false},
		{"work/a", nil, "work/a/b", nil, false},
		{"work/**", nil, "work/a/b", nil, true},
		{"work/**", nil, "work/a", nil, true},
		{"work/a/**", nil, "work/a", nil, false},
		{"work/a/**", nil, "work/**", nil, true},
		{"work/a/**", nil, "work/b/**", nil, false},
		{"work/{scope}", few, "work/a", nil, true},
		{"work/{scope}", few, "work/c", nil, false},
		{"work/{scope}", nil, "work/c", nil, true},
		{"work/{scope}.md", few, "work/a.md", nil, true},
		{"work/{scope}.md", few, "work/c.md", nil, false},
		{"work/{scope}.md", few, "work/.md", nil, false},
		{"work/{scope}", few, "work/{scope}", other, false},
		{"work/{scope}", few, "work/{scope}", few, true},
		{"work/{scope}", few, "work/{scope}", nil, true},
		{"work/x{scope}", few, "work/y{scope}", few, false},
		{"work/{scope}.md", few, "work/{scope}.txt", few, false},
		{"work/x{scope}", few, "work/xy{scope}", few, true},
		{"work/{p}-{scope}", few, "work/q-c", nil, true},
		{"work/{scope}/**", few, "work/c/x", nil, false},
		{"work/{scope}/**", few, "work/b/x", nil, true},
	} {
		p, q := newPattern(c.p, c.ps), newPattern(c.q, c.qs)
		if p.meets(q) != c.want || q.meets(p) != c.want {
			t.Errorf("%s and %s: %v, %v, want %v", c.p, c.q, p.meets(q), q.meets(p), c.want)
		}
	}
}
