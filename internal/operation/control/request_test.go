package control

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/registry"
)

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"Fork":{"Parent":"a","Claim":{},"Children":[{"ID":"b","Entries":[{"Kind":"user","Parts":[{"type":"text"}],"Meta":{}}]}]},"Start":true}`))
	f.Add([]byte(`[{"Agent":"a","What":"mail"}]`))
	f.Add([]byte(`{"Agent":"a","Prompt":{"Text":"x","Model":{"Vendor":"v","Name":"n"},"Budget":{"tokens":1}},"Wait":true}`))
	f.Add([]byte(`{"From":"a","Claim":{"held":true},"Body":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		parses[forkRequest](t, body)
		parses[execRequest](t, body)
		parses[registry.Send](t, body)
		parses[[]registry.Ring](t, body)
	})
}

// parses demands that what is read is one JSON value, and everything else a fault.
func parses[In any](t *testing.T, body []byte) {
	r := httptest.NewRequest("POST", "/", bytes.NewReader(body))
	in, err := read[In](httptest.NewRecorder(), r)
	if err != nil {
		if !fault.Is(err, fault.InvalidEvent) {
			t.Errorf("%q: %v", body, err)
		}
		return
	}
	if !json.Valid(body) {
		t.Errorf("%q is read as %+v", body, in)
	}
}
