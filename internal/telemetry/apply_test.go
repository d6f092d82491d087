package telemetry

import (
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestApply(t *testing.T) {
	record := func(pairs ...string) Record {
		r := testkit.Must(ParseNew([]byte(with(pairs...))))(t).Record
		r.CreatedAt, r.UpdatedAt = noon, noon
		return r
	}
	apply := func(r Record, body string) (Record, error) {
		return Apply(r, testkit.Must(ParsePatch([]byte(body)))(t), noon.Add(time.Second))
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
	r, err = Apply(record(), testkit.Must(ParsePatch([]byte(`{"host": "h"}`)))(t), noon.Add(-time.Hour))
	if err != nil || !r.UpdatedAt.Equal(noon) {
		t.Error(r.UpdatedAt, err)
	}
}
