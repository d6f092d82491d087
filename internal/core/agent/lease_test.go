package agent

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
)

var (
	now   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	later = now.Add(time.Second)
	ago   = now.Add(-time.Second)
)

func TestAdmit(t *testing.T) {
	free, live, over := Lease{Epoch: 3}, Lease{Owner: "k", Epoch: 3, Until: later}, Lease{Owner: "k", Epoch: 3, Until: ago}
	for _, c := range []struct {
		what  string
		lease Lease
		claim Claim
		code  fault.Code // empty: admitted
		after Lease
	}{
		{"passing by a free agent", free, Passing(), "", free},
		{"passing by one that was never leased", Lease{}, Passing(), "", Lease{}},
		{"passing by a leased agent", live, Passing(), fault.Leased, live},
		{"passing by an expired lease shuts its holder out", over, Passing(), "", Lease{Epoch: 4}},
		{"a lease ends exactly at its end", Lease{Owner: "k", Epoch: 3, Until: now}, Passing(), "", Lease{Epoch: 4}},
		{"the holder", live, Held("k", 3), "", live},
		{"the holder, expired but not replaced", over, Held("k", 3), "", over},
		{"the holder of an older epoch", live, Held("k", 2), fault.Fenced, live},
		{"the holder of a newer epoch", live, Held("k", 4), fault.Fenced, live},
		{"another with the right epoch", live, Held("j", 3), fault.Fenced, live},
		{"a holder after release", free, Held("k", 3), fault.Fenced, free},
		{"beside a free agent", free, Beside(), "", free},
		{"beside a leased agent", live, Beside(), "", live},
		{"beside an expired lease, which stays its holder's", over, Beside(), "", over},
		{"at the head", free, Passing().At(7), "", free},
		{"behind the head", free, Passing().At(6), fault.Conflict, free},
		{"at 0, of one that has entries", free, Passing().At(0), fault.Conflict, free},
		{"held and behind the head", live, Held("k", 3).At(6), fault.Conflict, live},
		{"fenced counts before the head", live, Held("k", 2).At(6), fault.Fenced, live},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := Admit(Agent{Name: "a", Head: 7, Lease: c.lease}, c.claim, now)
			if c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
				t.Errorf("%v, want %q", err, c.code)
			}
			if err == nil && got != c.after {
				t.Errorf("lease %+v, want %+v", got, c.after)
			}
		})
	}
}

func TestGrant(t *testing.T) {
	for _, c := range []struct {
		what  string
		lease Lease
		epoch int64 // 0: refused
	}{
		{"a free agent", Lease{Epoch: 3}, 4},
		{"never leased", Lease{}, 1},
		{"another's live lease", Lease{Owner: "j", Epoch: 3, Until: later}, 0},
		{"another's expired lease", Lease{Owner: "j", Epoch: 3, Until: ago}, 4},
		{"our own live lease keeps its epoch", Lease{Owner: "k", Epoch: 3, Until: later}, 3},
		{"our own expired lease", Lease{Owner: "k", Epoch: 3, Until: ago}, 4},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := Grant(Agent{Lease: c.lease}, "k", now, time.Minute)
			if c.epoch == 0 {
				if !fault.Is(err, fault.Leased) || !strings.Contains(err.Error(), "held by j until 2026-01-01T12:00:01Z") {
					t.Errorf("%v", err)
				}
				return
			}
			if want := (Lease{Owner: "k", Epoch: c.epoch, Until: now.Add(time.Minute)}); err != nil || got != want {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestRenewed(t *testing.T) {
	for _, c := range []struct {
		what  string
		lease Lease
		ok    bool
	}{
		{"ours", Lease{Owner: "k", Epoch: 3, Until: later}, true},
		{"ours, expired, taken by nobody", Lease{Owner: "k", Epoch: 3, Until: ago}, true},
		{"ours of another epoch", Lease{Owner: "k", Epoch: 4, Until: later}, false},
		{"another's", Lease{Owner: "j", Epoch: 3, Until: later}, false},
		{"given back", Lease{Epoch: 3}, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := Renewed(Agent{Lease: c.lease}, "k", 3, now, time.Minute)
			if c.ok && (err != nil || got != Lease{Owner: "k", Epoch: 3, Until: now.Add(time.Minute)}) {
				t.Errorf("%+v, %v", got, err)
			}
			if !c.ok && !fault.Is(err, fault.Fenced) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSeized(t *testing.T) {
	live := Lease{Owner: "j", Epoch: 3, Until: later}
	for _, c := range []struct {
		what        string
		lease, from Lease
		ok          bool
	}{
		{"a live lease", live, live, true},
		{"one that ran out", Lease{Owner: "j", Epoch: 3, Until: ago}, live, true},
		{"one that was renewed meanwhile", live, Lease{Owner: "j", Epoch: 3, Until: ago}, true},
		{"another owner's", Lease{Owner: "i", Epoch: 3, Until: later}, live, false},
		{"one of a later epoch", Lease{Owner: "j", Epoch: 4, Until: later}, live, false},
		{"one that was given back", Lease{Epoch: 3}, live, false},
		{"nobody's", Lease{Epoch: 3}, Lease{Epoch: 3}, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := Seized(Agent{Lease: c.lease}, c.from, "k", now, time.Minute)
			if c.ok && (err != nil || got != Lease{Owner: "k", Epoch: 4, Until: now.Add(time.Minute)}) {
				t.Errorf("%+v, %v", got, err)
			}
			if !c.ok && (!fault.Is(err, fault.Conflict) || got != c.lease) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestEachHolderIsAskedForOnce(t *testing.T) {
	asked := map[string]int{}
	left := OwnersGone(now, func(owner string) bool {
		asked[owner]++
		return owner == "dead"
	})
	for range 3 {
		for _, c := range []struct {
			lease Lease
			left  bool
		}{
			{Lease{Owner: "dead", Epoch: 3, Until: later}, true},
			{Lease{Owner: "alive", Epoch: 3, Until: later}, false},
			{Lease{Owner: "alive", Epoch: 4, Until: ago}, true},
			{Lease{Owner: "late", Epoch: 3, Until: ago}, true},
			{Lease{Epoch: 3}, true},
		} {
			if got := left(c.lease); got != c.left {
				t.Errorf("%+v: %t", c.lease, got)
			}
		}
	}
	if asked["dead"] != 1 || asked["alive"] != 1 || len(asked) != 2 {
		t.Errorf("asked for %v", asked)
	}
}

func TestAnOwnerIsGoneByItsLeaseOrItsDeath(t *testing.T) {
	never := func(owner string) bool { t.Errorf("%s was asked for", owner); return false }
	for _, c := range []struct {
		what  string
		lease Lease
		dead  func(string) bool
		gone  bool
	}{
		{"given back", Lease{Epoch: 3}, never, true},
		{"ran out", Lease{Owner: "a", Epoch: 3, Until: ago}, never, true},
		{"ran out now", Lease{Owner: "a", Epoch: 3, Until: now}, never, true},
		{"live, of a dead process", Lease{Owner: "a", Epoch: 3, Until: later}, func(string) bool { return true }, true},
		{"live, of a living process", Lease{Owner: "a", Epoch: 3, Until: later}, func(string) bool { return false }, false},
		{"live, of another host", Lease{Owner: "a", Epoch: 3, Until: later}, CannotKnow, false},
	} {
		if got := OwnerGone(c.lease, now, c.dead); got != c.gone {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}
