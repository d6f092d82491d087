package web

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ramet/internal/face/httpapi"
	"ramet/internal/testkit"
)

// schemas says which schema of the API each type of the page reads. Types that are not
// here are made of nothing that the API describes: events, and what stands in JSON.
var schemas = map[string]string{
	"Agent": "AgentNow", "Message": "MessageHere", "Piece": "PartContent", "Letter": "Letter", "FileChange": "FileChange", "Ask": "Ask", "Run": "Record", "Branch": "Branch", "Sums": "Sums",
	"LogRow": "RunLog", "Verified": "RunProof", "UsageRow": "SpentRow", "Usage": "Spending", "Tracked": "Shown",
	"Trust": "Trust", "Thing": "Thing", "Hit": "Hit", "Home": "Home", "HomeRow": "HomeRow",
	"Program": "Program", "Lineage": "Lineage", "LineageAgent": "LineageAgent", "LineagePoint": "LineagePoint", "LineageLetter": "LineageLetter",
}

type schema struct {
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	AllOf      []schema          `json:"allOf"`
}

type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

// fields are all that an object of a schema has, and whether each must be there.
func (d document) fields(s schema) map[string]bool {
	out := map[string]bool{}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		s = d.Components.Schemas[name]
	}
	for _, part := range s.AllOf {
		for name, must := range d.fields(part) {
			out[name] = must
		}
	}
	for name := range s.Properties {
		out[name] = slices.Contains(s.Required, name)
	}
	return out
}

var (
	typeForm  = regexp.MustCompile(`(?ms)^export interface (\w+)(?: extends \w+)? \{\n(.*?)^\}`)
	fieldForm = regexp.MustCompile(`(?m)^  (\w+)(\??): (.*)$`)
	callForm  = regexp.MustCompile(`(get|post)<.*?at\(("/[^"]*"(?: \+ (?:seg\(\w+\)|\w+|"[^"]*"))*)`)
)

// TestTypesAreThoseOfTheAPI holds what the page reads against the OpenAPI document.
func TestTypesAreThoseOfTheAPI(t *testing.T) {
	var doc document
	testkit.OK(t, json.Unmarshal(httpapi.New(httpapi.Options{}).Document(), &doc))
	source := testkit.Must(os.ReadFile(filepath.Join(sources, "src/api/types.ts")))(t)
	seen := 0
	for _, found := range typeForm.FindAllStringSubmatch(string(source), -1) {
		name, body := found[1], found[2]
		if schemas[name] == "" {
			continue
		}
		seen++
		fields := doc.fields(schema{Ref: "#/components/schemas/" + schemas[name]})
		if len(fields) == 0 {
			t.Errorf("%s: the API has no schema %s", name, schemas[name])
		}
		for _, field := range fieldForm.FindAllStringSubmatch(body, -1) {
			must, there := fields[field[1]]
			switch {
			case !there:
				t.Errorf("%s.%s: %s has no such field", name, field[1], schemas[name])
			case !must && field[2] == "":
				t.Errorf("%s.%s: %s may leave it out, and the page does not expect that", name, field[1], schemas[name])
			}
		}
	}
	if seen != len(schemas) {
		t.Errorf("%d of %d types were found", seen, len(schemas))
	}
}

// TestTheAPIHasWhatThePageAsks holds the paths of the client against those of the document.
func TestTheAPIHasWhatThePageAsks(t *testing.T) {
	var doc document
	testkit.OK(t, json.Unmarshal(httpapi.New(httpapi.Options{}).Document(), &doc))
	source := testkit.Must(os.ReadFile(filepath.Join(sources, "src/api/client.ts")))(t)
	part := regexp.MustCompile(`\{[^}]*\}`)
	known := map[string]bool{}
	for path, methods := range doc.Paths {
		for method := range methods {
			known[method+" "+part.ReplaceAllString(path, "*")] = true
		}
	}
	value := regexp.MustCompile(`" \+ (?:seg\(\w+\)|\w+)(?: \+ ")?`)
	calls := callForm.FindAllStringSubmatch(string(source), -1)
	if len(calls) < 20 {
		t.Errorf("only %d calls were found", len(calls))
	}
	for _, call := range calls {
		path := "/api/v1" + strings.Trim(value.ReplaceAllString(call[2], "*"), `"`)
		if !known[call[1]+" "+path] {
			t.Errorf("the page asks %s %s, which the API does not have", call[1], path)
		}
	}
}
