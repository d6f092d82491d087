package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// A snapshot is written piece by piece, and every byte is as encoding/json would have it.
func TestASnapshotIsWrittenAsJSON(t *testing.T) {
	text, yes := "a <b> & \u2028 \"quoted\"", true
	many := New("many")
	for i := range 3 {
		id := fmt.Sprint("item", i)
		many.WorkItems = append(many.WorkItems, Item{WorkItemID: id, Worker: text, Status: Completed, Retryable: &yes, Error: &ItemError{"FAILED", text},
			Inputs: []File{{Path: "a"}, {Path: "b", SHA256: &text}}, Outputs: []File{}})
		many.Artifacts = append(many.Artifacts, Artifact{Name: id, Path: text, WriterWorker: &id})
		many.Issues = append(many.Issues, Issue{IssueID: id, Location: json.RawMessage(`{"line":3,"deep":{"a":[1,2]}}`), Files: []string{text}})
	}
	many.Gates = append(many.Gates, Gate{Name: "g", Issues: []string{}, OK: &yes})
	many.Failure, many.PR = &Failure{Code: "X", Message: text}, &PR{URL: &text}
	many.SectionStates = map[string]SectionState{"b": Drafted, "a": Merged}
	for _, s := range []Snapshot{New("none"), {}, many} {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Encode(); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want.Bytes())
		}
	}
}
