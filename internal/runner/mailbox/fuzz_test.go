package mailbox

import (
	"reflect"
	"testing"

	"ramet/internal/runner"
)

// What is read of a letter is what was written in it, whatever it holds.
func FuzzLetters(f *testing.F) {
	f.Add([]byte(`{"Host":"h"}`))
	f.Add([]byte(`{"Report":{"id":"x","type":"LLM_CALL_STARTED","payload":"e30="},"Evidence":{"Path":"p","SHA256":"s"}}`))
	f.Add([]byte(`{"Result":{"files":null,"issues":[{"gate":"g"}]},"Files":[{"Path":"p","SHA256":"s"}],"Failure":{"code":"X"}}`))
	f.Add([]byte(`{"work_item_id":"r:w:1:s","task":{"timeout":1,"with":{"a":"b"}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		again(t, body, new(claim), new(claim))
		again(t, body, new(fetch), new(fetch))
		again(t, body, new(report), new(report))
		again(t, body, new(delivery), new(delivery))
		again(t, body, new(runner.Attempt), new(runner.Attempt))
		if runID, err := runOf(string(body)); err == nil && (len(runID) == 0 || len(runID) > 64) {
			t.Errorf("%q is a run", runID)
		}
	})
}

// again reads, writes, and reads what was written; the second time nothing changes.
func again[T any](t *testing.T, body []byte, first, second *T) {
	if decodeMessage(body, first) != nil {
		return
	}
	written, err := encodeMessage(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := decodeMessage(written, second); err != nil {
		t.Fatal(err)
	}
	rewritten, err := encodeMessage(second)
	if err != nil || !reflect.DeepEqual(written, rewritten) {
		t.Errorf("%s became %s, %v", written, rewritten, err)
	}
}
