package telemetry

import (
	"time"

	"ramet/internal/base/fault"
)

// Apply carries out a patch at a time, or refuses all of it:
//
//   - what has ended does not run again: CONFLICT; another end is fine, since a launch
//     that ended well may turn out partial;
//   - an end before the start, or a run that is its own parent: INVALID_FIELD;
//   - if the patch moves the start or the end and gives no duration_ms, the duration is
//     what lies between them; without an end there is none;
//   - updated_at is the time, and never goes back.
//
// The same patch again changes nothing but updated_at.
func Apply(r Record, p Patch, now time.Time) (Record, error) {
	before := r
	for _, c := range p.changes {
		c.set(&r)
	}
	if before.Status != Running && r.Status == Running {
		return before, fault.New(fault.Conflict, "telemetry run %s has ended with status %s and cannot be running again", r.EventID, before.Status).
			WithHint("create another record for another attempt")
	}
	blame := "/start_time"
	if p.has("end_time") {
		blame = "/end_time"
	}
	if complaint := r.check(blame); complaint != nil {
		return before, (&Invalid{Fields: []FieldError{*complaint}}).err("change of telemetry run " + r.EventID)
	}
	if !p.has("duration_ms") {
		switch {
		case r.EndTime != nil && (p.has("start_time") || p.has("end_time")):
			r.DurationMS = new(r.EndTime.Sub(r.StartTime).Milliseconds())
		case r.EndTime == nil && p.has("end_time"):
			r.DurationMS = nil
		}
	}
	if now = now.UTC().Truncate(time.Microsecond); now.After(r.UpdatedAt) {
		r.UpdatedAt = now
	}
	return r, nil
}
