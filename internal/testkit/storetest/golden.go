package storetest

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

//go:embed testdata/format1.db.gz
var format1 []byte

// Format1 unpacks an SQLite file as the first ramet wrote it: four agents, one
// of them dead, with marks, a rewind, a blob, a redaction and two letters.
func Format1(t testing.TB) (path string) {
	t.Helper()
	packed := testkit.Must(gzip.NewReader(bytes.NewReader(format1)))(t)
	path = filepath.Join(t.TempDir(), "format1.db")
	testkit.OK(t, os.WriteFile(path, testkit.Must(io.ReadAll(packed))(t), 0o600))
	return path
}

// RunFormat1 opens a workspace of format 1: it is whole, and life goes on in it
// with everything that came since.
func RunFormat1(t *testing.T, w *Workspace) {
	d := open(t, w)
	equal(t, "schema", testkit.Must(d.s.Describe(background))(t).Schema, 6)
	equal(t, "report", d.audit(), registry.Report{Agents: 4, Messages: 20, Blobs: 1, Letters: 2, Redacted: 1})
	bob := testkit.Must(agent.Find(background, d.s, "bob"))(t)
	equal(t, "context of agent 0", d.context(d.zero), "hello again")
	equal(t, "messages in a context", bob.Total, 6)
	equal(t, "letters", d.unread(bob.ID), 2)
	equal(t, "spent", bob.Spent, agent.Spending{})
	equal(t, "budget", bob.Budget, agent.Budget{})

	d.append(bob.ID, usage(5, 5), budget(10, -1))
	equal(t, "limits", len(testkit.Must(d.s.Allowances(background, bob.ID))(t)), 1)
	d.keep(d.reply(bob.ID, "I am still"))
	equal(t, "reply", d.shown(bob.ID), "I am still")
	testkit.Must(d.s.Acquire(background, bob.ID, "kernel", hour))(t)
	equal(t, "leases", len(d.renewAll("kernel", hour)), 1)
	testkit.Must(d.s.Fork(background, forkOf(bob.ID, agent.Held("kernel", d.agent(bob.ID).Lease.Epoch), children("child"))))(t)
}
