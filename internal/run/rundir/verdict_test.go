package rundir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"ramet/internal/base/chain"
	"ramet/internal/run"
	_ "ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// library reads a published schema as other programs do.
func library(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := MakeSchema(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	id := doc.(map[string]any)["$id"].(string)
	c := jsonschema.NewCompiler()
	if err := c.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
	// Compiling holds it against the metaschema of the draft that it names.
	s, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	if s.DraftVersion != 2020 {
		t.Fatalf("%s is of draft %d", name, s.DraftVersion)
	}
	return s
}

func verdict(t *rapid.T, s *jsonschema.Schema, doc []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

// odd are values to put in the place of others.
var odd = []string{`null`, `true`, `false`, `""`, `"x"`, `"OPEN"`, `"DONE"`, `"external"`, `"` + runtest.Sum + `"`, `"` + runtest.Sum + `\n"`, `"a/b"`, `0`, `1`, `-1`, `0.5`,
	`1e21`, `9007199254740991`, `9007199254740992`, `100`, `2.5`, `[]`, `[""]`, `["x",null]`, `{}`, `{"path":"p"}`, `{"code":"c","message":""}`, `{"url":"u"}`}

// mutate changes a document in one place: another value, one fewer, one more.
func mutate(t *rapid.T, v any) any {
	type spot struct {
		set    func(any)
		remove func()
		add    map[string]any
	}
	root := v
	spots := []spot{{set: func(other any) { root = other }}}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			spots = append(spots, spot{add: v})
			for _, key := range slices.Sorted(maps.Keys(v)) {
				spots = append(spots, spot{set: func(other any) { v[key] = other }, remove: func() { delete(v, key) }})
				walk(v[key])
			}
		case []any:
			for i := range v {
				spots = append(spots, spot{set: func(other any) { v[i] = other }})
				walk(v[i])
			}
		}
	}
	walk(v)
	s := rapid.SampledFrom(spots).Draw(t, "spot")
	switch {
	case s.add != nil:
		key := rapid.SampledFrom([]string{"url", "name", "sha256", "reason", "a/b", "z"}).Draw(t, "key")
		s.add[key] = decode(t, rapid.SampledFrom(odd).Draw(t, "more"))
	case s.remove != nil && rapid.Bool().Draw(t, "remove"):
		s.remove()
	default:
		s.set(decode(t, rapid.SampledFrom(odd).Draw(t, "other")))
	}
	return root
}

func decode(t *rapid.T, text string) any {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func encode(t *rapid.T, v any) []byte {
	text, err := json.Marshal(v)
	if err == nil {
		text, err = chain.Canonical(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTypedCheckAndPublishedSchemaGiveTheSameVerdict(t *testing.T) {
	published := library(t, "event")
	examples := runtest.Examples()
	counts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		for _, kind := range append(run.Types(), "FROM_A_NEWER_VERSION") {
			example := examples[kind]
			if example == "" {
				example = `{"a":{"b":[1]}}`
			}
			payload := decode(t, example)
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				payload = mutate(t, payload)
			}
			text := encode(t, payload)
			doc := []byte(event(kind, string(text)))
			ours := run.CheckPayload(kind, text)
			theirs := verdict(t, published, doc)
			if ours != nil && strings.Contains(ours.Error(), "the sum is") {
				ours = nil // no schema can say it
			}
			whole := ValidateOutput("event", doc)
			if (ours == nil) != (theirs == nil) || (whole == nil) != (theirs == nil) {
				t.Fatalf("%s %s\nthe check:  %v\nthe whole:  %v\nthe schema: %v", kind, text, ours, whole, theirs)
			}
			counts[ours == nil]++
		}
	})
	if counts[true] < 100 || counts[false] < 100 {
		t.Errorf("too few of a kind: %v", counts)
	}
}

func TestTheEnvelopeIsPublishedAsLinesAreRead(t *testing.T) {
	published := library(t, "event")
	words := []string{"", "a", "A_B", "a/b", runtest.Sum, strings.ToUpper(runtest.Sum), "00f067aa0ba902b7", "0af7651916cd43dd8448eb211c80319c", "2026-01-15T14:22:10Z",
		"2026-01-15T14:22:10.5Z", "2026-01-15T14:22:10.Z", "2026-01-15T24:22:10Z", "2026-01-15T14:22:10+00:00", "2026-1-15T14:22:10Z", strings.Repeat("r", 64), strings.Repeat("r", 65),
		"00000001-0000-7000-8000-000000000000", "00000001-0000-7000-8000-00000000000A"}
	rapid.Check(t, func(t *rapid.T) {
		doc := decode(t, event("NEW", `{}`)).(map[string]any)
		key := rapid.SampledFrom([]string{"event_hash", "event_id", "parent_span_id", "payload", "prev_hash", "run_id", "span_id", "trace_id", "ts", "type", "other"}).Draw(t, "key")
		if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
			delete(doc, key)
		} else {
			doc[key] = rapid.SampledFrom(words).Draw(t, "word")
		}
		line := encode(t, doc)
		_, err := run.ParseLine(line)
		if theirs := verdict(t, published, line); (err == nil) != (theirs == nil) {
			t.Fatalf("%s\nthe line:   %v\nthe schema: %v", line, err, theirs)
		}
	})
}

// random draws a run and gives its snapshot.
func random(t *rapid.T) run.Snapshot {
	r := run.NewReducer(run.New(runtest.RunID))
	if err := r.Apply(runtest.Draft(0, run.RunCreated, runtest.Examples()[run.RunCreated]).Link("")); err != nil {
		t.Fatal(err)
	}
	dice := runtest.Dice(t)
	for n := range rapid.IntRange(1, 80).Draw(t, "events") + 20 {
		_ = r.Apply(runtest.Step(dice, r.Snapshot(), n+1).Link(r.Hash())) // illegal ones are refused
	}
	return r.Snapshot()
}

func TestEverySnapshotFitsItsSchema(t *testing.T) {
	whole, one := library(t, "snapshot"), library(t, "issue")
	rapid.Check(t, func(t *rapid.T) {
		s := random(t)
		text, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := verdict(t, whole, text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := ValidateOutput("snapshot", text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, i := range s.Issues {
			text, err := json.Marshal(i)
			if err != nil {
				t.Fatal(err)
			}
			if err := verdict(t, one, text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	})
}

func TestDocumentsGetTheSameVerdictFromBoth(t *testing.T) {
	snapshots, issues, configs := library(t, "snapshot"), library(t, "issue"), library(t, "run_config")
	config := `{"recipe":"docs","inputs":[{"name":"a","url":"b","commit":"c"}],"limits":{"tokens":5},"set":{"a":"b"},"more":1}`
	rapid.Check(t, func(t *rapid.T) {
		s := random(t)
		text, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		same := func(name string, published *jsonschema.Schema, doc any) {
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				doc = mutate(t, doc)
			}
			text := encode(t, doc)
			if ours, theirs := ValidateOutput(name, text), verdict(t, published, text); (ours == nil) != (theirs == nil) {
				t.Fatalf("%s %s\nthe shape:  %v\nthe schema: %v", name, text, ours, theirs)
			}
		}
		doc := decode(t, string(text))
		if len(s.Issues) > 0 {
			same("issue", issues, decode(t, string(encode(t, s.Issues[0]))))
		}
		same("snapshot", snapshots, doc)
		same("run_config", configs, decode(t, config))
	})
}

// A field that is added to the snapshot and not to the shape would only show when
// a random run fills it: this sees it at once.
func TestTheShapesNameEveryFieldOfTheSnapshot(t *testing.T) {
	for _, c := range []struct {
		schema map[string]any
		value  any
	}{
		{snapshot().Schema(), run.Snapshot{}}, {issue().Schema(), run.Issue{}}, {artifact().Schema(), run.Artifact{}},
		{gate().Schema(), run.Gate{}}, {workItem().Schema(), run.Item{}}, {file().Schema(), run.File{}},
		{failure().Schema(), run.Failure{}}, {pullRequest().Schema(), run.PR{}}, {itemError().Schema(), run.ItemError{}},
	} {
		var want []string
		for f := range reflect.TypeOf(c.value).Fields() {
			want = append(want, f.Tag.Get("json"))
		}
		slices.Sort(want)
		got := slices.Sorted(maps.Keys(c.schema["properties"].(map[string]any)))
		if fmt.Sprint(got) != fmt.Sprint(want) || len(c.schema["required"].([]string)) != len(want) {
			t.Errorf("%T: the shape has %v, the type %v", c.value, got, want)
		}
	}
}
