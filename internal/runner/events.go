package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"ramet/internal/run"
)

// about gives an event the span of an item.
func (e Record) about(itemID string) Record {
	e.Span = SpanOf(itemID)
	return e
}

// newRecord makes a record; the payload is one of ours, so it can be encoded.
func newRecord(t run.Type, payload any) Record {
	data, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return Record{Type: t, Payload: data}
}

// SpanOf returns the span of something that has a name in a run.
func SpanOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// callID is the call that a report is about.
func callID(payload []byte) string {
	return run.ReadPayload[run.CacheHit](payload).CallID // as in every event of a call; the log checks its form
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// step is the event of a transition.
func (r *Run) step(to run.State, reason string) Record {
	return newRecord(run.RunStateChanged, run.Step{Old: r.state, New: to, Reason: reason})
}

// failing is the event of a failure; the attempt remembers it.
func (r *Run) failing(e *attempt, f Failure) Record {
	e.status, e.code, e.failure, e.answer, e.retry = run.ItemFailed, f.Code, f.Message, f.Answer, f.Retryable
	return newRecord(run.WorkItemFailed, run.ItemFailure{WorkItemID: e.id, Error: run.ItemError{Code: f.Code, Message: f.Message}, Retryable: f.Retryable}).about(e.id)
}

// invalidateRecord returns the event of an item that was done and has to be done again.
func invalidateRecord(e *attempt, why string) Record {
	return newRecord(run.WorkItemInvalidated, run.Invalidation{WorkItemID: e.id, Reason: why}).about(e.id)
}

// append writes events and passes them to Watch. The caller holds mu. A log that cannot be
// written ends the work.
func (r *Run) append(ctx context.Context, records ...Record) error {
	if len(records) == 0 {
		return nil
	}
	if err := r.Log.Append(context.WithoutCancel(ctx), records...); err != nil {
		r.stopLocked(err)
		return err
	}
	if r.Watch != nil {
		for _, e := range records {
			r.Watch(e)
		}
	}
	return nil
}
