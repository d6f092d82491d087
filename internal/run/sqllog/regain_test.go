package sqllog

import (
	"bytes"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/runtest"
)

// A writer goes on over lost connections and lost answers, and writes everything once.
func TestAWriterGoesOnOverLostConnections(t *testing.T) {
	address := pgtest.URL(t)
	network := pgtest.Through(t, address)
	w := openTable(t, network.URL, runtest.LogRunID)
	var want []run.Draft
	for i, stumble := range []func(){
		func() {},
		network.Cut,
		func() { network.LoseNext(pgtest.After) },
		func() { network.LoseNext(pgtest.Before) },
		func() { network.LoseNext(pgtest.During) },
		func() { network.Lose(func(n int) (pgtest.Fate, bool) { return pgtest.Fate(1 + n%3), n <= 3 }) },
		func() { network.Lose(nil); network.Cut() },
	} {
		stumble()
		want = append(want, runtest.LogDraft(i))
		if _, err := w.Append(t.Context(), want[i]); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if network.Lost() < 4 {
		t.Errorf("%d commits were lost: the test shows nothing", network.Lost())
	}
	if got := runtest.ExportLog(t, w); !bytes.Equal(got, runtest.LogLines(want...)) {
		t.Errorf("got %s", got)
	}
}

// Who finds that another one wrote meanwhile, and has left, writes no more.
func TestAWriterThatWasOvertakenWritesNoMore(t *testing.T) {
	address := pgtest.URL(t)
	network := pgtest.Through(t, address)
	w := openTable(t, network.URL, runtest.LogRunID)
	testkit.Must(w.Append(t.Context(), runtest.LogDraft(0)))(t)
	network.Down(true)
	var second *Writer
	for second == nil { // until the server has noticed
		var err error
		if second, err = OpenTableWriter(t.Context(), address, runtest.LogRunID); err != nil && !fault.Is(err, fault.Locked) {
			t.Fatal(err)
		}
	}
	testkit.Must(second.Append(t.Context(), runtest.LogDraft(1)))(t)
	testkit.OK(t, second.Close())
	network.Down(false)
	for range 2 {
		if _, err := w.Append(t.Context(), runtest.LogDraft(2)); !fault.Is(err, fault.Fenced) {
			t.Errorf("append after another: %v", err)
		}
	}
}
