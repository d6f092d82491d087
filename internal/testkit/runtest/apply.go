package runtest

import "ramet/internal/run"

// Apply is the snapshot after one more event, as a pure function: the snapshot before is
// left alone, and is the result if the event does not fit.
func Apply(s run.Snapshot, e run.Event) (run.Snapshot, error) {
	r := run.NewReducer(s.Clone())
	if err := r.Apply(e); err != nil {
		return s, err
	}
	return r.Snapshot(), nil
}
