package public

import "ramet/internal/base/printer"

// RunMade is a run that was begun, taken up again, forked or cancelled: where it is, and how
// far its log has come.
type RunMade struct {
	RunID string `json:"run_id"`
	Path  string `json:"path"`
	State string `json:"run_state"`
}

// Text implements printer.Datum.
func (m RunMade) Text(w *printer.Writer) { w.Line("%s", m.RunID) }
