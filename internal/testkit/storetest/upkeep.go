package storetest

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/testkit"
)

// blobOf is the name of an entry's blob, "" if it has none.
func blobOf(t testing.TB, d *bench, e history.Entry) string {
	t.Helper()
	for _, p := range testkit.Must(e.Parts())(t) {
		if p.Blob != nil {
			return string(p.Blob[:])
		}
	}
	return ""
}

// blobBytes are the bytes of a blob as they are stored.
func blobBytes(t testing.TB, raw *sql.DB, hash string) []byte {
	t.Helper()
	var data []byte
	testkit.OK(t, raw.QueryRowContext(background, `SELECT data FROM blobs WHERE hash = $1`, []byte(hash)).Scan(&data))
	return data
}

// testFirstStart: many processes may meet at a new workspace.
func testFirstStart(t *testing.T, w *Workspace) {
	const openers = 8
	var group sync.WaitGroup
	stores := make([]*store.Store, openers)
	zeros := make([]id.Agent, openers)
	begin := make(chan struct{})
	for i := range openers {
		group.Go(func() {
			<-begin
			s, err := w.Open()
			if err != nil {
				t.Errorf("opener %d: %v", i, err)
				return
			}
			stores[i] = s
			zero, err := s.Zero(background)
			if err != nil {
				t.Errorf("opener %d: %v", i, err)
			}
			zeros[i] = zero.ID
			if _, err := s.Append(background, zero.ID, agent.Passing(), says("hello")...); err != nil {
				t.Errorf("opener %d: %v", i, err)
			}
		})
	}
	close(begin)
	group.Wait()
	for i, s := range stores {
		equal(t, "agent 0", zeros[i], zeros[0])
		if s != nil {
			equal(t, "close", s.Close(), nil)
		}
	}
	d := open(t, w)
	equal(t, "agent 0 after all", d.zero, zeros[0])
	equal(t, "agents", d.audit().Agents, 1)
	equal(t, "messages", d.agent(d.zero).Own, openers)
}

func testReopen(t *testing.T, w *Workspace) {
	d := open(t, w)
	other := at(t, testkit.Must(w.Open())(t))
	equal(t, "agent 0", other.zero, d.zero)
	d.say(d.zero, "a")
	kid := other.fork(other.zero, "kid")[0]
	d.say(kid.ID, "b")
	other.say(kid.ID, "c")
	equal(t, "one handle", d.context(kid.ID), "a b c")
	equal(t, "the other", other.context(kid.ID), "a b c")
	lease := testkit.Must(d.s.Acquire(background, kid.ID, "d", hour))(t).Lease
	_, err := other.s.Append(background, kid.ID, agent.Passing(), says("x")...)
	refused(t, "a lease of the other handle", err, fault.Leased)
	equal(t, "close", other.s.Close(), nil)
	again := at(t, testkit.Must(w.Open())(t))
	equal(t, "agent 0 after a reopening", again.zero, d.zero)
	equal(t, "context after a reopening", again.context(kid.ID), "a b c")
	equal(t, "lease after a reopening", again.agent(kid.ID).Lease, lease)
	testkit.Must(again.s.Append(background, kid.ID, agent.Held("d", lease.Epoch), says("e")...))(t)
	equal(t, "close", again.s.Close(), nil)
	what := testkit.Must(d.s.Describe(background))(t)
	if what.Schema != 6 || what.ReadOnly || len(what.Problems) > 0 || what.Engine == "" || what.Version == "" || what.Place == "" {
		t.Errorf("%+v", what)
	}
}

func testGC(t *testing.T, w *Workspace) {
	d := open(t, w)
	long := strings.Repeat("kept ", 4000)
	kept := d.say(d.zero, long)[0]
	equal(t, "nothing to drop", testkit.Must(d.s.GC(background))(t), registry.Swept{})
	raw := w.Raw(t)
	e := d.say(d.zero, strings.Repeat("dropped ", 4000))[0]
	hash := blobOf(t, d, e)
	data := blobBytes(t, raw, hash)
	d.redact(d.zero, e.ID)
	if _, err := raw.ExecContext(background, `INSERT INTO blobs (hash, size, data) VALUES ($1, 32000, $2)`, // without a name
		[]byte(hash), data); err != nil {
		t.Fatal(err)
	}
	equal(t, "swept", testkit.Must(d.s.GC(background))(t), registry.Swept{Blobs: 1, Bytes: int64(len(data))})
	equal(t, "again", testkit.Must(d.s.GC(background))(t), registry.Swept{})
	equal(t, "the named one stays", blobOf(t, d, kept) != "", true)
	equal(t, "blobs", d.audit().Blobs, 1)
}

func testBackup(t *testing.T, w *Workspace) {
	d := open(t, w)
	agents := play(t, d, `
		root ─ m1 ─ mark(x) ─ m3 ─ m8
		                      └─ m4 ─ rewind(x) ─ m6 ─ kill (child)`, "")
	long := strings.Repeat("long ", 4000)
	secret := d.say(agents["root"], long, "secret")[1]
	d.redact(agents["root"], secret.ID)
	d.send(agents["root"], d.zero, "dear")
	d.send("", agents["root"], "sir")
	testkit.Must(d.s.Acquire(background, agents["root"], "kernel", hour))(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "copy.db")
	testkit.OK(t, d.s.Backup(background, path))
	refused(t, "a file that exists", d.s.Backup(background, path), fault.Conflict)
	files := testkit.Must(os.ReadDir(folder))(t)
	equal(t, "files", len(files), 1)
	equal(t, "for the owner only", testkit.Must(files[0].Info())(t).Mode().Perm(), 0o600)
	refused(t, "a folder that does not exist", d.s.Backup(background, filepath.Join(folder, "no", "copy.db")), fault.NotFound)

	copied := open(t, &Workspace{Open: func() (*store.Store, error) { return w.OpenFile(path) }})
	equal(t, "agent 0", copied.zero, d.zero)
	equal(t, "report", copied.audit(), d.audit())
	for _, a := range testkit.Must(d.s.Agents(background, agent.Filter{Dead: true}))(t) {
		equal(t, "context", copied.context(a.ID), d.context(a.ID))
		o := copied.agent(a.ID)
		equal(t, "row", o, d.agent(a.ID))
	}
	// It lives on by itself.
	copied.say(copied.zero, "on")
	copied.send("", copied.zero, "on")
	d.say(d.zero, "here too")
	heads := slices.DeleteFunc(testkit.Must(d.s.Heads(background))(t), func(h registry.Head) bool { return h.Agent == d.zero })
	report := testkit.Must(copied.s.Audit(background, heads))(t)
	equal(t, "heads of those that did not change", report.Heads, 2)
}
