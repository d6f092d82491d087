package telemetry

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	_ "ramet/internal/testkit"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestApply(t *testing.T) {
	record := func(pairs ...string) Record {
		r := must(ParseNew([]byte(with(pairs...)))).Record
		r.CreatedAt, r.UpdatedAt = noon, noon
		return r
	}
	apply := func(r Record, body string) (Record, error) {
		return Apply(r, must(ParsePatch([]byte(body))), noon.Add(time.Second))
	}
	r, err := apply(record(), `{"status": "failed"}`)
	if err != nil || r.Status != Failure || !r.UpdatedAt.Equal(noon.Add(time.Second)) || !r.CreatedAt.Equal(noon) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := apply(r, `{"status": "running", "host": "x"}`); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	if r, err = apply(r, `{"status": "partial"}`); err != nil || r.Status != Partial {
		t.Error(r, err)
	}
	ended := record("end_time", `"2026-01-02T03:04:06Z"`)
	if r, err := apply(ended, `{"start_time": "2026-01-02T03:04:04Z"}`); err != nil || *r.DurationMS != 2000 {
		t.Error(r, err)
	}
	if r, err := apply(ended, `{"end_time": "2026-01-02T03:04:09Z", "duration_ms": 1}`); err != nil || *r.DurationMS != 1 {
		t.Error(r, err)
	}
	if _, err := apply(ended, `{"start_time": "2026-01-02T03:04:07Z"}`); !fault.Is(err, fault.InvalidField) || Details(err)[0].Pointer != "/start_time" {
		t.Error(err)
	}
	if _, err := apply(ended, `{"end_time": "2026-01-02T03:04:04Z"}`); !fault.Is(err, fault.InvalidField) || Details(err)[0].Pointer != "/end_time" {
		t.Error(err)
	}
	if r, err := apply(ended, `{"start_time": "2027-01-02T00:00:00Z", "end_time": null}`); err != nil || r.DurationMS != nil {
		t.Error(r, err)
	}
	// A clock that goes back does not take updated_at with it.
	r, err = Apply(record(), must(ParsePatch([]byte(`{"host": "h"}`))), noon.Add(-time.Hour))
	if err != nil || !r.UpdatedAt.Equal(noon) {
		t.Error(r.UpdatedAt, err)
	}
	if got := must(ParsePatch([]byte(`{"host": "h", "status": "failed"}`))).Fields(); !reflect.DeepEqual(got, []string{"host", "status"}) {
		t.Error(got)
	}
}

// model is a record as a plain JSON object, patched by merging.
type model map[string]any

// patch is what Apply should do, written as naively as possible.
func (m model) patch(p map[string]any, now string) (model, fault.Code) {
	out := maps.Clone(m)
	for name, value := range p {
		switch {
		case name == "status":
			out[name] = map[any]any{"failed": "failure", "completed": "success", "succeeded": "success", "canceled": "cancelled"}[value]
			if out[name] == nil {
				out[name] = value
			}
		case value == nil && strings.HasPrefix(name, "items_"):
			out[name] = 0.0
		case value == nil || value == "":
			delete(out, name)
		default:
			out[name] = value
		}
	}
	if m["status"] != "running" && out["status"] == "running" {
		return m, fault.Conflict
	}
	when := func(name string) time.Time {
		t, _ := time.Parse(time.RFC3339, fmt.Sprint(out[name]))
		return t
	}
	_, hasEnd := out["end_time"]
	if hasEnd && when("end_time").Before(when("start_time")) {
		return m, fault.InvalidField
	}
	if out["parent_run_id"] == out["run_id"] {
		return m, fault.InvalidField
	}
	_, givesEnd := p["end_time"]
	_, givesStart := p["start_time"]
	_, givesDuration := p["duration_ms"]
	if !givesDuration && hasEnd && (givesEnd || givesStart) {
		out["duration_ms"] = float64(when("end_time").Sub(when("start_time")) / time.Millisecond)
	}
	if !givesDuration && !hasEnd && givesEnd {
		delete(out, "duration_ms")
	}
	out["updated_at"] = now
	return out, ""
}

func toModel(t *rapid.T, r Record) (m model) {
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestApplyIsMerging(t *testing.T) {
	moments := []any{"2026-01-02T03:04:05Z", "2026-01-02T03:04:06.25Z", "2026-03-01T00:00:00Z"}
	texts := []any{"x", "two words", nil, ""}
	counts := []any{0.0, 7.0, nil}
	choices := map[string][]any{
		"status":     {"running", "success", "failed", "completed", "partial", "timeout", "canceled"},
		"start_time": moments, "end_time": append([]any{nil}, moments...), "git_commit_timestamp": append([]any{nil}, moments...),
		"duration_ms": counts, "agent_name": {"a", "b"}, "parent_run_id": {"p", "r1", nil, ""},
		"metrics_json": {map[string]any{"a": 1.0}, map[string]any{}, nil}, "context_json": {map[string]any{"trace_id": "t"}, nil},
		"git_commit_hash": {"0123456", nil},
	}
	for _, f := range fields() {
		switch {
		case f.fixed || f.service || choices[f.name] != nil:
		case strings.HasPrefix(f.name, "items_"):
			choices[f.name] = counts
		default:
			choices[f.name] = texts
		}
	}
	names := changeableFields()
	rapid.Check(t, func(t *rapid.T) {
		r := must(ParseNew([]byte(with()))).Record
		r.CreatedAt, r.UpdatedAt = noon, noon
		want := toModel(t, r)
		for step := range rapid.IntRange(1, 8).Draw(t, "steps") {
			patch := map[string]any{}
			for range rapid.IntRange(1, 5).Draw(t, "fields") {
				name := rapid.SampledFrom(names).Draw(t, "name")
				patch[name] = rapid.SampledFrom(choices[name]).Draw(t, "value")
			}
			body, err := json.Marshal(patch)
			if err != nil {
				t.Fatal(err)
			}
			p, err := ParsePatch(body)
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			now := noon.Add(time.Duration(step+1) * time.Second)
			before := r
			var code, got fault.Code
			want, code = want.patch(patch, now.Format(time.RFC3339))
			if r, err = Apply(r, p, now); err != nil {
				got = fault.CodeOf(err)
				if !reflect.DeepEqual(r, before) {
					t.Fatalf("%s was refused and changed something", body)
				}
			}
			if model := toModel(t, r); got != code || !reflect.DeepEqual(model, want) {
				t.Fatalf("%s: %q %v\nwant %q %v", body, got, model, code, want)
			}
		}
	})
}
