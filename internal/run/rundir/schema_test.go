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
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

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
