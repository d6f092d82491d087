package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/ledger"
)

// An update of the ledger (lock, read, change, write, pointer) costs little more than
// writing the same file atomically without any of that.
func BenchmarkLedgerUpdateAgainstBareWrite(b *testing.B) {
	const entries = 50 // as many as a file holds unless it says otherwise
	l := newBook(b, entries)
	var theirs, ours times
	n := 0
	round := func() {
		for range scaled(500) {
			n++
			data := must[[]byte](b)(os.ReadFile(l.path))
			theirs.of(func() { check(b, durable.WriteFile(l.path+".bare", data, 0o644)) })
			ours.of(func() { l.update(b, n) })
		}
	}
	round()
	theirs, ours = nil, nil
	for b.Loop() {
		round()
	}
	atMost(b, "ledger: one update / the bare atomic write of the same file", "", ours.at(0.5)/theirs.at(0.5), 2)
	shown(b, "ledger: one update of 50 entries", "ms", ours.at(0.5)/1e6)
}

// book is a ledger in which one agent in turn starts and ends, so that its size stays.
type book struct {
	*ledger.Folder
	path string
	id   string
}

// newBook makes one that is full of finished agents.
func newBook(b *testing.B, entries int) *book {
	b.Helper()
	dir := must[string](b)(os.MkdirTemp(workshop, "ledger-*"))
	sheet := must[*ledger.Sheet](b)(ledger.Parse(fmt.Appendf(nil, `{"version":"1.0","max_entries":%d,"entries":[]}`, entries)))
	for i := range entries {
		id := fmt.Sprintf("agent-%d", i)
		must[ledger.Entry](b)(sheet.Spawn(ledger.Start{ID: id, Type: "backend-specialist", Plan: "02", Group: "API Endpoints", Minutes: 30, Owner: ledger.SelfOwner()}, time.Now()))
		must[ledger.Entry](b)(sheet.Move(id, ledger.Completed, "", time.Now()))
	}
	l := &book{Folder: ledger.FolderAt(dir, ledger.FolderOptions{}), path: filepath.Join(dir, ledger.FileName)}
	check(b, durable.WriteFile(l.path, sheet.Format(), 0o644))
	return l
}

// update is one update: odd ones start an agent, even ones end it.
func (l *book) update(b *testing.B, n int) {
	if n%2 == 1 {
		l.id = fmt.Sprintf("new-%d", n)
		must[ledger.Entry](b)(l.Spawn(b.Context(), ledger.Start{ID: l.id, Type: "backend-specialist", Plan: "02", Group: "API Endpoints", Minutes: 30, Owner: ledger.SelfOwner()}))
		return
	}
	must[ledger.Entry](b)(l.Move(b.Context(), l.id, ledger.Completed, ""))
}
