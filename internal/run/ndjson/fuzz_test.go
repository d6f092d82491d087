package ndjson

import (
	"bytes"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// Whatever bytes a log holds: reading them does not panic, gives events that
// follow each other by a second reckoning, and stops with a fault that has a code
// if it does not come to the end. A writer sees the same events, or refuses; what
// it repairs is then a log that reads to the end.
func FuzzReadLog(f *testing.F) {
	all := runtest.LogLines(runtest.LogDrafts(0, 4)...)
	f.Add(all)
	f.Add(all[:len(all)-1])
	f.Add(all[:len(all)-30])
	f.Add(append(bytes.Clone(all), make([]byte, 700)...))
	f.Add(append([]byte("\xef\xbb\xbf"), all...))
	f.Add(bytes.ReplaceAll(all, []byte("\n"), []byte("\r\n")))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := put(t, data)
		l := testkit.Must(Open(t.Context(), path))(t)
		defer l.Close()
		var chain *run.Chain
		seen := 0
		for e, err := range l.Events(t.Context(), 0) {
			if err != nil {
				if !fault.Is(err, fault.EventChainBroken) {
					t.Fatal(err)
				}
				break
			}
			if chain == nil {
				chain = testkit.Must(run.BeginChain(e.Event))(t)
			}
			again, err := run.ParseLine(e.Raw)
			if err != nil || !again.Intact() || chain.Follow(again) != nil || !bytes.Equal(data[e.Offset:e.Offset+int64(len(e.Raw))], e.Raw) {
				t.Fatalf("line %d was not verified: %v", e.Line, err)
			}
			seen++
		}
		if last, ok, err := l.Last(t.Context()); err == nil && ok && !last.Intact() {
			t.Fatal("the last event was not verified")
		}
		w, err := OpenWriter(t.Context(), path)
		if err != nil {
			if !fault.Is(err, fault.EventChainBroken) {
				t.Fatal(err)
			}
			return
		}
		defer w.Close()
		if n := int(w.Count()); n != seen && n != seen+1 {
			t.Fatalf("a reader saw %d events, a writer %d", seen, n)
		}
		if n := bytes.Count(runtest.ExportLog(t, w), []byte("\n")); n != int(w.Count()) {
			t.Fatalf("%d of %d events after the repair", n, w.Count())
		}
	})
}
