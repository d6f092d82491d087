package storetest

import (
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// ErrInjected is the error of a statement that FailEachStatement lets fail.
var ErrInjected = errors.New("this statement fails, for a test")

// FailEachStatement calls verb again and again and lets one statement of it fail, first the first, then the second, until it
// comes to its end. Every call but the last must return an error. before is the variable that a store calls before each
// statement; the statements of other goroutines count as well.
func FailEachStatement(t testing.TB, before *func(query string) error, name string, verb func() error) {
	t.Helper()
	for n := 1; ; n++ {
		var mu sync.Mutex
		left, failed := n, ""
		*before = func(query string) error {
			mu.Lock()
			defer mu.Unlock()
			if left--; left != 0 {
				return nil
			}
			failed = query
			return ErrInjected
		}
		err := verb()
		*before = nil
		switch {
		case failed == "" && err != nil:
			t.Errorf("%s: %v", name, err)
			return
		case failed == "":
			if n == 1 {
				t.Errorf("%s asks nothing: the test shows nothing", name)
			}
			return
		case err == nil:
			t.Errorf("%s succeeds although this statement failed: %.200s", name, failed)
		}
	}
}

// RunFailing lets each statement of each verb fail: no verb says that it has succeeded then, and nothing of it is there
// afterwards. See FailEachStatement for before.
func RunFailing(t *testing.T, w *Workspace, before *func(query string) error) {
	d := open(t, w)
	a := d.fork(d.zero, "a")[0].ID
	b := d.fork(a, "b")[0].ID
	said := d.say(a, "one", "two", strings.Repeat("long ", history.BlobCutoff))
	d.append(a, budget(1_000_000, -1))
	letter := d.send(d.zero, a, "a letter").Number
	var blob chain.Hash
	for _, part := range testkit.Must(said[2].Parts())(t) {
		if part.Blob != nil {
			blob = *part.Blob
		}
	}
	start := testkit.Must(d.s.Latest(background))(t)
	free := agent.Claim{}
	each := func(name string, verb func() error) { FailEachStatement(t, before, name, verb) }
	each("Append", func() error { return must2(d.s.Append(background, a, free, text(history.User, "three"))) })
	each("Append a rewind", func() error { return must2(d.s.Append(background, a, free, history.NewRewind(said[0].ID, ""))) })
	each("Fork", func() error {
		return must2(d.s.Fork(background, registry.Fork{Parent: a, Children: []registry.Child{{ID: id.NewAgent(), Name: "c", Entries: []history.Draft{history.NewClear()}}}, Entries: []history.Draft{text(history.User, "and")}}))
	})
	each("Rename", func() error { return must2(d.s.Rename(background, b, free, "d")) })
	each("Send", func() error {
		return must2(d.s.Send(background, registry.Send{From: b, To: a, Body: "body", Most: 9}))
	})
	each("Send an answer", func() error {
		return must2(d.s.Send(background, registry.Send{From: a, To: d.zero, Body: "body", InReplyTo: letter}))
	})
	each("Letters", func() error { return must2(d.s.Letters(background, a, mail.Filter{})) })
	each("Unread", func() error { return must2(d.s.Unread(background, a)) })
	each("Read", func() error {
		_, _, err := d.s.Read(background, registry.Read{Owner: a, Number: letter, Entries: func(mail.Letter) []history.Draft { return []history.Draft{text(history.User, "read")} }})
		return err
	})
	each("Hide", func() error { return d.s.Hide(background, a, letter) })
	each("Acquire", func() error { return must2(d.s.Acquire(background, a, "k", time.Hour)) })
	lease, kept := d.agent(a).Lease, d.reply(a, "words")
	each("Renew", func() error { return must2(d.s.Renew(background, a, "k", lease.Epoch, time.Hour)) })
	each("RenewAll", func() error { return must2(d.s.RenewAll(background, "k", time.Hour)) })
	each("Leased", func() error { _, _, err := d.s.Leased(background); return err })
	each("KeepReplies", func() error { return d.s.KeepReplies(background, []registry.Reply{kept}) })
	each("Reply", func() error { _, _, err := d.s.Reply(background, a); return err })
	lease = d.agent(a).Lease
	each("Seize", func() error { return must2(d.s.Seize(background, a, lease, "l", time.Hour)) })
	lease = d.agent(a).Lease
	each("Release", func() error { return d.s.Release(background, a, "l", lease.Epoch) })
	each("Reserve", func() error {
		return d.s.Reserve(background, registry.Hold{ID: "h", Agent: b, Owner: "k", Worst: agent.Spending{Tokens: 9}})
	})
	each("Held", func() error { return must2(d.s.Held(background, a)) })
	each("Allowances", func() error { return must2(d.s.Allowances(background, b)) })
	each("Spent", func() error { return must2(d.s.Spent(background, a)) })
	each("Settle", func() error { return d.s.Settle(background, "h") })
	each("Calls", func() error { return drain(d.s.Calls(background, time.Time{})) })
	each("Agent", func() error { return must2(d.s.Agent(background, a)) })
	each("Zero", func() error { return must2(d.s.Zero(background)) })
	each("Agents", func() error { return must2(d.s.Agents(background, agent.Filter{Dead: true})) })
	each("Heads", func() error { return must2(d.s.Heads(background)) })
	each("Named", func() error { _, _, err := d.s.Named(background, "a"); return err })
	each("Prefixed", func() error { return must2(d.s.Prefixed(background, string(a)[:4], 2)) })
	each("Names", func() error { return must2(d.s.Names(background)) })
	each("Endings", func() error { return must2(d.s.Endings(background, true)) })
	each("Endings of one", func() error { return must2(d.s.Endings(background, true, a)) })
	each("Words", func() error { return must2(d.s.Words(background, a, b)) })
	each("Ties", func() error { return must2(d.s.Ties(background, 10)) })
	each("Lineage", func() error { return must2(d.s.Lineage(background, b)) })
	each("Entry", func() error { return must2(d.s.Entry(background, said[0].ID)) })
	each("Blob", func() error { return must2(d.s.Blob(background, blob)) })
	each("FindClear", func() error {
		_, _, err := d.s.FindClear(background, a, history.NoLimit)
		return err
	})
	each("QueryRange", func() error {
		return drain(d.s.QueryRange(background, history.Range{Agent: a, End: history.NoLimit}, history.Selection{}))
	})
	each("View", func() error {
		return d.s.View(background, func(log history.Log) error { return must2(history.BuildRanges(background, log, b)) })
	})
	each("Proofs", func() error {
		return d.s.Proofs(background, func(p history.Proofs) error {
			return drain(p.Records(background, history.Range{Agent: a, End: history.NoLimit}))
		})
	})
	// What reads histories fails with them.
	each("Limits", func() error { return must2(registry.Limits(background, d.s, b)) })
	each("AccountsOf", func() error { return must2(registry.AccountsOf(background, d.s, a)) })
	each("Effort", func() error { _, _, err := registry.Effort(background, d.s, b); return err })
	each("EffortSince", func() error { return must2(registry.EffortSince(background, d.s, a, "", 0)) })
	each("TaskOf", func() error { return must2(registry.TaskOf(background, d.s, a)) })
	each("AddUp", func() error { return must2(registry.AddUp(background, d.s, "agent", time.Time{})) })
	each("StateAt", func() error { _, _, err := history.StateAt(background, d.s, b, said[0].ID); return err })
	each("StateBefore", func() error { _, _, err := history.StateBefore(background, d.s, b, said[0].ID); return err })
	each("States", func() error { return must2(history.States(background, d.s, a)) })
	each("LastFinal", func() error { return must2(history.LastFinal(background, d.s, a)) })
	each("Replay", func() error { return must2(history.Replay(background, d.s, b)) })
	each("Play", func() error { return drain(history.Play(background, d.s, b)) })
	each("Membership", func() error { return must2(history.Membership(background, d.s, b)) })
	each("Tail", func() error { return must2(history.Tail(background, d.s, b, 2)) })
	each("Lookup", func() error { return history.Lookup(background, d.s, a, said[0].ID) })
	each("Find", func() error { return must2(agent.Find(background, d.s, string(a)[:6])) })
	each("FindHolder", func() error {
		_, _, err := agent.FindHolder(background, d.s, a, func(string) bool { return false })
		return err
	})
	each("Latest", func() error { return must2(d.s.Latest(background)) })
	each("Changes", func() error { _, _, err := d.s.Changes(background, start, 100); return err })
	each("Audit", func() error { return must2(d.s.Audit(background, nil)) })
	each("Redact", func() error { return d.s.Redact(background, a, free, said[2].ID) })
	each("PlanGC", func() error { return must2(d.s.PlanGC(background)) })
	each("GC", func() error { return must2(d.s.GC(background)) })
	each("Describe", func() error { return must2(d.s.Describe(background)) })
	each("Put a pack", func() error { return d.s.Packs().Put(background, "p", []byte("x")) })
	each("Names of packs", func() error { return must2(d.s.Packs().Names(background)) })
	each("Pack", func() error { return must2(d.s.Packs().Pack(background, "p")) })
	each("Drop a pack", func() error { return d.s.Packs().Drop(background, "p") })
	each("Kill", func() error { return must2(d.s.Kill(background, registry.Kill{Agent: a, Cascade: true})) })
	equal(t, "what each did once", d.kinds(a), "fork fork user user user command user rewind fork user mail user redact killed")
}

// drain reads a sequence to its end and returns its error.
func drain[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
