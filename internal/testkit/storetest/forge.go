package storetest

import (
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// testForgeries deletes, swaps and invents whole rows.
func testForgeries(t *testing.T, w *Workspace) {
	x, agents := scene(t, w)
	root, child, twin := agents["root"], agents["child"], agents["twin"]
	entries := x.d.own(root)
	tables := []table{x.snapshot("agents", "genesis_id"), x.snapshot("messages", "id"), x.snapshot("mail", "id"),
		x.snapshot("blobs", "hash"), x.snapshot("blob_refs", "message_id")}
	salt := chain.NewSalt()
	last := func(a id.Agent) id.Message { return x.d.agent(a).Head }
	for _, c := range []struct {
		what string
		harm func()
	}{
		{"the contents of two rows swapped", func() {
			x.exec(`UPDATE messages SET content = o.content, salt = o.salt FROM messages o
				WHERE messages.id IN ($1, $2) AND o.id IN ($1, $2) AND o.id <> messages.id`, int64(entries[1].ID), int64(entries[3].ID))
		}},
		{"contents and commitments of two rows swapped", func() {
			x.exec(`UPDATE messages SET content = o.content, salt = o.salt, commitment = o.commitment FROM messages o
				WHERE messages.id IN ($1, $2) AND o.id IN ($1, $2) AND o.id <> messages.id`, int64(entries[1].ID), int64(entries[3].ID))
		}},
		{"a middle row deleted", func() { x.exec(`DELETE FROM messages WHERE id = $1`, int64(entries[3].ID)) }},
		{"the first row deleted", func() { x.exec(`DELETE FROM messages WHERE id = $1`, int64(entries[0].ID)) }},
		{"the last row deleted", func() { x.exec(`DELETE FROM messages WHERE id = $1`, int64(last(twin))) }},
		{"the last row of the dead deleted", func() { x.exec(`DELETE FROM messages WHERE id = $1`, int64(last(child))) }},
		{"the redaction unsaid", func() { x.exec(`DELETE FROM messages WHERE kind = 'redact'`) }},
		{"content deleted without a redaction", func() {
			x.exec(`UPDATE messages SET content = NULL, salt = NULL WHERE id = $1`, int64(entries[1].ID))
		}},
		{"an agent's row deleted", func() { x.exec(`DELETE FROM agents WHERE uuid = $1`, string(twin)) }},
		{"an agent's history deleted", func() { x.exec(`DELETE FROM messages WHERE agent_uuid = $1`, string(twin)) }},
		{"a whole agent deleted", func() {
			x.exec(`DELETE FROM messages WHERE agent_uuid = $1`, string(twin))
			x.exec(`DELETE FROM agents WHERE uuid = $1`, string(twin))
		}},
		{"agent 0 deleted", func() { x.exec(`DELETE FROM agents WHERE parent_uuid IS NULL`) }},
		{"everything deleted", func() {
			for _, tb := range tables {
				x.exec(`DELETE FROM ` + tb.name)
			}
		}},
		{"a forged row at the end", func() {
			x.exec(`INSERT INTO messages (id, agent_uuid, kind, content, meta, created_at, hash, salt, commitment, seq)
				SELECT 100000, agent_uuid, kind, content, meta, created_at, hash, salt, commitment, seq + 1 FROM messages WHERE id = $1`,
				int64(entries[1].ID))
		}},
		{"a forged agent", func() {
			x.exec(`INSERT INTO agents (genesis_id, uuid, parent_uuid, fork_message_id, depth, status, provider, model, cwd, created_at,
				lease_epoch, head_id, head_hash, own, total)
				SELECT 100000, 'forged', parent_uuid, fork_message_id, depth, status, provider, model, cwd, created_at,
				0, head_id, head_hash, own, total FROM agents WHERE uuid = $1`, string(twin))
		}},
		{"a history moved to another agent", func() {
			x.exec(`UPDATE messages SET agent_uuid = $1 WHERE agent_uuid = $2`, string(child), string(twin))
		}},
		{"parents in a circle", func() { x.exec(`UPDATE agents SET parent_uuid = $1 WHERE uuid = $2`, string(twin), string(root)) }},
		{"an agent that is its own parent", func() { x.exec(`UPDATE agents SET parent_uuid = uuid WHERE uuid = $1`, string(twin)) }},
		{"a blob changed", func() { x.exec(`UPDATE blobs SET data = $1`, []byte("garbage")) }},
		{"a blob emptied", func() { x.exec(`UPDATE blobs SET data = $1`, []byte{}) }},
		{"a blob deleted", func() { x.exec(`DELETE FROM blobs`) }},
		{"a blob renamed", func() { x.exec(`UPDATE blobs SET hash = $1`, make([]byte, 32)) }},
		{"a blob with an ill-formed name", func() { x.exec(`UPDATE blobs SET hash = $1`, []byte("x")) }},
		{"a blob that its message is not known to name", func() { x.exec(`DELETE FROM blob_refs`) }},
		{"a letter changed", func() { x.exec(`UPDATE mail SET body = 'cheap' WHERE from_uuid IS NOT NULL`) }},
		{"a letter from another", func() { x.exec(`UPDATE mail SET from_uuid = $1 WHERE from_uuid IS NOT NULL`, string(twin)) }},
		{"a letter from the user", func() { x.exec(`UPDATE mail SET from_uuid = NULL`) }},
		{"a letter to another", func() {
			x.exec(`UPDATE mail SET to_uuid = $1, number = 9 WHERE from_uuid IS NOT NULL`, string(twin))
		}},
		{"a letter deleted", func() { x.exec(`DELETE FROM mail WHERE from_uuid IS NOT NULL`) }},
		{"a letter's salt changed", func() { x.exec(`UPDATE mail SET salt = $1`, salt[:]) }},
		{"a letter's number garbled", func() { x.exec(`UPDATE mail SET id = 77 WHERE from_uuid IS NOT NULL`) }},
		{"a forged letter", func() {
			x.exec(`INSERT INTO mail (id, number, from_uuid, to_uuid, body, salt, created_at) VALUES (99, 99, $1, $2, 'pay', $3, 1)`,
				string(twin), string(root), salt[:])
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			x.t, x.d.t = t, t
			c.harm()
			x.detected(c.what)
			// Damage may hide things, but nothing hangs or panics on it.
			for _, a := range append([]id.Agent{x.d.zero}, root, child, twin) {
				if c, err := x.d.s.Lineage(background, a); err == nil && len(c) > 4 {
					t.Errorf("a lineage of %d", len(c))
				}
				x.d.s.Agents(background, agent.Filter{Dead: true})
			}
			x.restore(tables...)
		})
	}
	x.t, x.d.t = t, t
	x.d.audit()
}

// testCheckpoint cuts a tail so that the database itself is consistent: only
// the heads kept elsewhere can tell.
func testCheckpoint(t *testing.T, w *Workspace) {
	x, agents := scene(t, w)
	twin := agents["twin"]
	heads := testkit.Must(x.d.s.Heads(background))(t)
	report := testkit.Must(x.d.s.Audit(background, heads))(t)
	equal(t, "heads met", report.Heads, len(heads))
	x.d.say(agents["root"], "and on")
	equal(t, "heads met after growth", testkit.Must(x.d.s.Audit(background, heads))(t).Heads, len(heads))

	own := x.d.own(twin)
	cut, before := own[len(own)-1], own[len(own)-2]
	x.exec(`DELETE FROM messages WHERE id = $1`, int64(cut.ID))
	x.exec(`UPDATE agents SET head_id = $1, head_hash = $2 WHERE uuid = $3`, int64(before.ID), before.Hash[:], string(twin))
	if _, err := x.d.s.Audit(background, nil); err != nil {
		t.Fatalf("the cut is not consistent: %v", err)
	}
	_, err := x.d.s.Audit(background, heads)
	refused(t, "a cut tail", err, fault.HistoryDamaged)
	if want := "agent " + string(twin) + " message " + cut.ID.String() + ": "; err == nil || err.Error()[:len(want)] != want {
		t.Errorf("%v, want it to begin with %s", err, want)
	}
	zero, back, err := registry.ParseCheckpoint(registry.FormatCheckpoint(x.d.zero, heads))
	if err != nil || zero != x.d.zero || len(back) != len(heads) {
		t.Errorf("%s %v %v", zero, back, err)
	}
}
