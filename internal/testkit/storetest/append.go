package storetest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

func testZero(t *testing.T, w *Workspace) {
	d := open(t, w)
	zero := d.agent(d.zero)
	if _, err := id.ParseAgent(string(zero.ID)); err != nil || !zero.IsZero() || zero.Status != agent.Running || zero.Depth != 0 ||
		zero.Parent != "" || zero.ForkMessage != 0 || zero.Own != 0 || zero.Total != 0 || zero.Cwd != "/where/it/began" {
		t.Errorf("agent 0: %+v, %v", zero, err)
	}
	equal(t, "its history", d.kinds(zero.ID), "fork")
	equal(t, "its head", zero.Head, zero.Genesis)
	equal(t, "its context", d.context(zero.ID), "")
}

func testAppend(t *testing.T, w *Workspace) {
	d := open(t, w)
	one := d.say(d.zero, "a", "b")
	two := d.append(d.zero, text(history.System, "s"), text(history.Note, "n"), text(history.Assistant, "c"), text(history.ToolResult, "r"))
	equal(t, "context", d.context(d.zero), "a b s c r")
	zero := d.agent(d.zero)
	equal(t, "own", zero.Own, 5)
	equal(t, "head", zero.Head, two[3].ID)
	equal(t, "head hash", zero.HeadHash, two[3].Hash)
	stored := d.own(d.zero)
	for i, e := range slices.Concat(one, two) {
		s := stored[i+1]
		if e.ID != s.ID || e.Hash != s.Hash || e.Kind != s.Kind || !bytes.Equal(e.Content, s.Content) ||
			!bytes.Equal(e.Meta, s.Meta) || !e.CreatedAt.Equal(s.CreatedAt) || e.Agent != s.Agent {
			t.Errorf("returned %+v, stored %+v", e, s)
		}
		if s.ID <= stored[i].ID {
			t.Errorf("message %d follows %d", s.ID, stored[i].ID)
		}
		if single := testkit.Must(d.s.Entry(background, e.ID))(t); single.Hash != e.Hash {
			t.Errorf("entry %d: %+v", e.ID, single)
		}
	}
	if none, err := d.s.Append(background, d.zero, agent.Passing()); err != nil || none != nil {
		t.Errorf("nothing appended: %v %v", none, err)
	}
	many := make([]history.Draft, 200) // more than one statement holds
	for i := range many {
		many[i] = text(history.User, "x")
	}
	equal(t, "a batch", len(d.append(d.zero, many...)), 200)
	equal(t, "own after a batch", d.agent(d.zero).Own, 205)
	// An entry without content is not taken for a redacted one.
	clear := d.append(d.zero, history.NewClear())[0]
	if e := testkit.Must(d.s.Entry(background, clear.ID))(t); e.Content == nil {
		t.Error("an empty content is read as a redacted one")
	}
	equal(t, "after a clear", d.context(d.zero), "")
}

func testAppendRefuses(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0]
	head := d.say(kid.ID, "x")[0].ID
	before := d.kinds(kid.ID)
	try := func(a id.Agent, c agent.Claim, drafts ...history.Draft) error {
		_, err := d.s.Append(background, a, c, drafts...)
		return err
	}
	x := text(history.User, "y")
	refused(t, "an unknown agent", try(id.NewAgent(), agent.Passing(), x), fault.NotFound)
	refused(t, "a stale head", try(kid.ID, agent.Passing().At(head-1), x), fault.Conflict)
	refused(t, "head 0", try(kid.ID, agent.Passing().At(0), x), fault.Conflict)
	refused(t, "a lease never had", try(kid.ID, agent.Held("me", 1), x), fault.Fenced)
	refused(t, "an unknown kind", try(kid.ID, agent.Passing(), history.Draft{Kind: "hello"}), fault.InvalidKind)
	refused(t, "a kind that would break the hashed bytes", try(kid.ID, agent.Passing(), history.Draft{Kind: `user","{}`}), fault.InvalidKind)
	for _, k := range []history.Kind{history.Fork, history.Killed, history.Redact, history.Mail} {
		refused(t, "a verb's own kind", try(kid.ID, agent.Passing(), history.Draft{Kind: k}), fault.InvalidKind)
	}
	over, cancel := context.WithCancel(background)
	cancel()
	_, err := d.s.Append(over, kid.ID, agent.Passing(), x)
	refused(t, "a cancelled context", err, fault.Interrupted)
	lease := testkit.Must(d.s.Acquire(background, kid.ID, "kernel", hour))(t).Lease
	refused(t, "a leased agent", try(kid.ID, agent.Passing(), x), fault.Leased)
	refused(t, "another owner", try(kid.ID, agent.Held("other", lease.Epoch), x), fault.Fenced)
	refused(t, "another epoch", try(kid.ID, agent.Held("kernel", lease.Epoch+1), x), fault.Fenced)
	equal(t, "nothing was written", d.kinds(kid.ID), before)
	if err := try(kid.ID, agent.Held("kernel", lease.Epoch).At(head), x); err != nil {
		t.Errorf("the holder: %v", err)
	}
	testkit.Must(d.s.Kill(background, killOf(kid.ID, false)))(t)
	refused(t, "the dead", try(kid.ID, agent.Passing(), x), fault.DeadAgent)
	refused(t, "the dead, by its last holder", try(kid.ID, agent.Held("kernel", lease.Epoch), x), fault.DeadAgent)
}

func testShaping(t *testing.T, w *Workspace) {
	d := open(t, w)
	first := d.say(d.zero, "a", "b", "c")
	try := func(drafts ...history.Draft) error {
		_, err := d.s.Append(background, d.zero, agent.Passing(), drafts...)
		return err
	}
	compact := func(start, end id.Message) history.Draft {
		return history.Draft{Kind: history.Compact, Parts: says("[s]")[0].Parts,
			Meta: history.Meta{StartID: start.String(), EndID: end.String()}}
	}
	kid := d.fork(d.zero, "")[0]
	theirs := d.say(kid.ID, "theirs")[0].ID
	before := d.kinds(d.zero)
	refused(t, "rewind to an unknown message", try(history.NewRewind(1<<40, "")), fault.NotFound)
	refused(t, "rewind to 0", try(history.NewRewind(0, "")), fault.InvalidID)
	refused(t, "rewind to a child's message", try(history.NewRewind(theirs, "")), fault.NotFound)
	refused(t, "compact ahead", try(compact(first[0].ID, 1<<40)), fault.Conflict)
	refused(t, "compact backwards", try(compact(first[2].ID, first[0].ID)), fault.Conflict)
	refused(t, "compact of nothing", try(history.Draft{Kind: history.Compact}), fault.Conflict)
	refused(t, "a good entry before a bad one", try(says("d")[0], history.NewRewind(1<<40, "")), fault.NotFound)
	equal(t, "nothing was written", d.kinds(d.zero), before)
	equal(t, "context", d.context(d.zero), "a b c")

	d.append(d.zero, compact(first[0].ID, first[1].ID))
	equal(t, "compacted", d.context(d.zero), "[s] c")
	refused(t, "compact of half a summary", try(compact(first[1].ID, first[2].ID)), fault.Conflict)
	d.append(d.zero, history.NewRewind(first[1].ID, ""), says("e")[0])
	equal(t, "rewound behind the compact", d.context(d.zero), "a b e")
	d.append(d.zero, history.NewClear(), says("f")[0])
	refused(t, "rewind past a clear", try(history.NewRewind(first[0].ID, "")), fault.Conflict)
	refused(t, "compact past a clear", try(compact(first[0].ID, first[1].ID)), fault.Conflict)
	equal(t, "after the clear", d.context(d.zero), "f")
	equal(t, "the child is untouched", d.context(kid.ID), "a b c theirs")
	// The child reaches its parent's messages before the fork.
	d.append(kid.ID, history.NewRewind(first[0].ID, ""))
	equal(t, "rewind across the fork", d.context(kid.ID), "a")
}

func testBlobs(t *testing.T, w *Workspace) {
	d := open(t, w)
	noise := make([]byte, 100<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	parts := []history.Part{
		{Type: history.Text, Text: "short"},
		{Type: history.Result, CallID: "1", Text: strings.Repeat("a line of output\n", 7000)},
		{Type: history.Image, MediaType: "image/png", Data: noise},
		{Type: history.Text, Text: strings.Repeat("x", history.BlobCutoff)},
	}
	e := d.append(d.zero, history.Draft{Kind: history.ToolResult, Parts: parts})[0]
	back := testkit.Must(testkit.Must(d.s.Entry(background, e.ID))(t).Parts())(t)
	if back[1].Blob == nil || back[2].Blob == nil || back[0].Blob != nil || back[3].Blob != nil {
		t.Errorf("large parts are not blobs, or small ones are: %.200v", back)
	}
	read := func(h chain.Hash) ([]byte, error) { return d.s.Blob(background, h) }
	testkit.OK(t, history.Fill(back, read))
	for i := range parts {
		if back[i].Text != parts[i].Text || !bytes.Equal(back[i].Data, parts[i].Data) {
			t.Errorf("part %d came back changed", i)
		}
	}
	d.append(d.zero, history.Draft{Kind: history.ToolResult, Parts: parts[1:2]}) // the same blob again
	equal(t, "blobs", d.audit().Blobs, 2)
	_, err := d.s.Blob(background, chain.Sum([]byte("nothing")))
	refused(t, "an unknown blob", err, fault.HistoryDamaged)
}
