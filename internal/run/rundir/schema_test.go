package rundir

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/shape"
	"ramet/internal/run"
	"ramet/internal/testkit/runtest"
)

var update = flag.Bool("update", false, "write the schemas into the folder schemas")

// folder is where the repository publishes them.
const folder = "../../../schemas"

func TestTheSchemasInTheRepositoryAreTheGeneratedOnes(t *testing.T) {
	var files []string
	for _, name := range SchemaNames() {
		want, err := MakeSchema(name)
		if err != nil {
			t.Fatal(err)
		}
		file := name + ".schema.json"
		files = append(files, file)
		if *update {
			if err := os.WriteFile(filepath.Join(folder, file), want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("schemas/%s is not what the code generates (%v): go test ./internal/run/rundir -update", file, err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := ValidateOutput("nothing", nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("unknown schema: %v", err)
	}
}

func event(kind run.Type, payload string) string {
	return string(runtest.Draft(1, kind, payload).Link("").Line())
}

func TestDocumentsAreRefusedWithTheirPlace(t *testing.T) {
	line := event(run.GateRunStarted, `{"gate":"g"}`)
	for _, c := range []struct {
		schema, doc, pointer string
		code                 fault.Code
	}{
		{"event", line, "", ""},
		{"event", event("FROM_A_NEWER_VERSION", `{"any":[1]}`), "", ""},
		{"event", event(run.GateRunStarted, `{}`), "/payload/gate", fault.InvalidEvent},
		{"event", event(run.GateRunStarted, `{"gate":"g","x":1}`), "/payload/x", fault.InvalidEvent},
		{"event", event("NEW", `[]`), "/payload", fault.InvalidEvent},
		{"event", strings.Replace(line, `"ts":"2026`, `"ts":"26`, 1), "/ts", fault.InvalidEvent},
		{"event", strings.Replace(line, `"prev_hash":""`, `"prev_hash":null`, 1), "/prev_hash", fault.InvalidEvent},
		{"event", strings.Replace(line, `"prev_hash":"",`, ``, 1), "/prev_hash", fault.InvalidEvent},
		{"event", strings.Replace(line, runtest.RunID, "a/b", 1), "/run_id", fault.InvalidEvent},
		{"event", strings.Replace(line, `{"event_hash"`, `{"a":1,"event_hash"`, 1), "/a", fault.InvalidEvent},
		{"event", `null`, "", fault.InvalidEvent},
		{"event", `{"type":"A","type":"B"}`, "", fault.InvalidEvent},
		{"run_config", `{}`, "", ""},
		{"run_config", `{"recipe":"docs","inputs":[{"name":"a","url":"b"},{"name":"a","url":"b","commit":"c","depth":1}],"limits":{"tokens":1e6,"cost":0.5},"set":{"a":""},"more":[1]}`, "", ""},
		{"run_config", `{"recipe":""}`, "/recipe", fault.InvalidConfig},
		{"run_config", `{"inputs":[{"name":"a"}]}`, "/inputs/0/url", fault.InvalidConfig},
		{"run_config", `{"limits":{"a/b":"1"}}`, "/limits/a~1b", fault.InvalidConfig},
		{"run_config", `{"limits":{"tokens":-1}}`, "/limits/tokens", fault.InvalidConfig},
		{"run_config", `{"set":{"n":1}}`, "/set/n", fault.InvalidConfig},
		{"issue", `{}`, "/error_code", fault.InvalidEvent},
		{"snapshot", `{"artifacts":null}`, "/artifacts", fault.InvalidEvent},
	} {
		err := ValidateOutput(c.schema, []byte(c.doc))
		if c.code == "" {
			if err != nil {
				t.Errorf("%s: %s: %v", c.schema, c.doc, err)
			}
			continue
		}
		var where *shape.Error
		if !fault.Is(err, c.code) || !errors.As(err, &where) || where.Pointer != c.pointer {
			t.Errorf("%s: %s: %v, want %s at %q", c.schema, c.doc, err, c.code, c.pointer)
		}
	}
}
