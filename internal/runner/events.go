package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"ramet/internal/run"
)

// about gives an event the span of an item.
func (e Record) about(itemID string) Record {
	e.Span = Span(itemID)
	return e
}

// event makes a record; the payload is one of ours, so it can be encoded.
func event(t run.Type, payload any) Record {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return Record{Type: t, Payload: data}
}

func object(pairs ...string) []byte {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	data, _ := json.Marshal(m) // strings can always be encoded
	return data
}

// Span is the span of something that has a name in a run.
func Span(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// callID is the call that a report is about.
func callID(payload []byte) string {
	var p struct {
		CallID string `json:"call_id"`
	}
	json.Unmarshal(payload, &p) // the log checks its form
	return p.CallID
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// step is the event of a transition.
func (r *Run) step(to run.State, reason string) Record {
	if reason == "" {
		return Record{Type: run.RunStateChanged, Payload: object("old_state", string(r.state), "new_state", string(to))}
	}
	return Record{Type: run.RunStateChanged, Payload: object("old_state", string(r.state), "new_state", string(to), "reason", reason)}
}

// failing is the event of a failure; the attempt remembers it.
func (r *Run) failing(e *attempt, f Failure) Record {
	e.status, e.code, e.failure, e.retry = run.ItemFailed, f.Code, f.Message, f.Retryable
	return event(run.WorkItemFailed, struct {
		ID        string        `json:"work_item_id"`
		Error     run.ItemError `json:"error"`
		Retryable bool          `json:"retryable"`
	}{e.id, run.ItemError{Code: f.Code, Message: f.Message}, f.Retryable}).about(e.id)
}
