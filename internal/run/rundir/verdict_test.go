package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// library reads a published schema as other programs do.
func library(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text := testkit.Must(MakeSchema(name))(t)
	doc := testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	id := doc.(map[string]any)["$id"].(string)
	c := jsonschema.NewCompiler()
	testkit.OK(t, c.AddResource(id, doc))
	// Compiling holds it against the metaschema of the draft that it names.
	s := testkit.Must(c.Compile(id))(t)
	if s.DraftVersion != 2020 {
		t.Fatalf("%s is of draft %d", name, s.DraftVersion)
	}
	return s
}

func verdict(t *rapid.T, s *jsonschema.Schema, doc []byte) error {
	value := testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(doc)))(t)
	return s.Validate(value)
}

func decode(t *rapid.T, text string) any {
	var v any
	testkit.OK(t, json.Unmarshal([]byte(text), &v))
	return v
}

func encode(t *rapid.T, v any) []byte {
	text, err := json.Marshal(v)
	if err == nil {
		text, err = chain.Canonical(text)
	}
	testkit.OK(t, err)
	return text
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
	testkit.OK(t, r.Apply(runtest.Draft(0, run.RunCreated, runtest.Examples()[run.RunCreated]).Link("")))
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
		text := testkit.Must(s.Encode())(t)
		if err := verdict(t, whole, text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := CheckSnapshot(text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, i := range s.Issues {
			text := testkit.Must(json.Marshal(i))(t)
			if err := verdict(t, one, text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	})
}

var update = flag.Bool("update", false, "write the schemas into the folder schemas")

// folder is where the repository publishes them.
const folder = "../../../schemas"

func TestTheSchemasInTheRepositoryAreTheGeneratedOnes(t *testing.T) {
	var files []string
	for _, name := range SchemaNames() {
		want := testkit.Must(MakeSchema(name))(t)
		file := name + ".schema.json"
		files = append(files, file)
		if *update {
			testkit.OK(t, os.WriteFile(filepath.Join(folder, file), want, 0o644))
		}
		got, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("schemas/%s is not what the code generates (%v): go test ./internal/run/rundir -update", file, err)
		}
	}
	entries := testkit.Must(os.ReadDir(folder))(t)
	for _, e := range entries {
		if !slices.Contains(files, e.Name()) {
			t.Errorf("schemas/%s is none of ours", e.Name())
		}
	}
}

func TestTheNamesAreSortedAndComplete(t *testing.T) {
	if got := strings.Join(SchemaNames(), " "); got != "event issue recipe run_config snapshot" {
		t.Errorf("names %s", got)
	}
	_, err := MakeSchema("nothing")
	if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "run_config") {
		t.Errorf("unknown schema: %v", err)
	}
}

func event(kind run.Type, payload string) string {
	return string(runtest.Draft(1, kind, payload).Link("").Line())
}

func TestAConfigurationIsRefusedWithThePlace(t *testing.T) {
	for _, c := range []struct {
		doc, pointer string
	}{
		{`{}`, ""},
		{`{"recipe":"docs","inputs":[{"name":"a","url":"b"},{"name":"a","url":"b","commit":"c","depth":1}],"limits":{"tokens":1e6,"cost":0.5},"set":{"a":""},"more":[1]}`, ""},
		{`{"recipe":""}`, "/recipe"},
		{`{"inputs":[{"name":"a"}]}`, "/inputs/0/url"},
		{`{"limits":{"a/b":"1"}}`, "/limits/a~1b"},
		{`{"limits":{"tokens":-1}}`, "/limits/tokens"},
		{`{"set":{"n":1}}`, "/set/n"},
	} {
		err := checkForm("run_config", runConfig, fault.InvalidConfig, []byte(c.doc))
		if c.pointer == "" {
			if err != nil {
				t.Errorf("%s: %v", c.doc, err)
			}
			continue
		}
		var where *shape.Error
		if !fault.Is(err, fault.InvalidConfig) || !errors.As(err, &where) || where.Pointer != c.pointer {
			t.Errorf("%s: %v, want it at %q", c.doc, err, c.pointer)
		}
	}
}
