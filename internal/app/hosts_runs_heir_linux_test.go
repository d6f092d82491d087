package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/operation/session"
	"ramet/internal/testkit"
)

// age moves the last sign of life of the run's orchestrator back by more than a lease, and ends its
// lease on the run's own agent.
func (f *fleet) age() {
	f.t.Helper()
	f.sql(`UPDATE agents SET lease_until = 1 WHERE name = $1 AND lease_owner IS NOT NULL`, session.RunName+f.run)
	f.sql(`UPDATE RUNS.desks SET seen_at = seen_at - interval '1 day' WHERE run_id = $1`, f.run)
}

// A host that may orchestrates a run whose orchestrator was killed, also one that continues another run: what was done
// stays done, and is found where the run was begun.
func TestAnOrphanedRunIsTakenUp(t *testing.T) {
	t.Parallel()
	for _, forked := range []bool{false, true} {
		t.Run(fmt.Sprintf("forked=%t", forked), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, signed)
			a := f.worker("a")
			k := f.start("--limit", "calls=77")
			testkit.WaitUntil(t, "it works", a.waits)
			a.open(1)
			k.says(t, "done draft:1:i01")
			if forked {
				k = f.fork(k)
				testkit.WaitUntil(t, "it works", a.waits)
			}
			k.kill()
			f.isTakenUp(a)
		})
	}
}

// fork cancels the run, and continues it under another name from where its first item was finished.
func (f *fleet) fork(k *task) *task {
	f.t.Helper()
	f.boss.ramet(0, "run", "cancel", f.run)
	k.ends(f.t, 130, "error[CANCELLED]")
	all := f.events()
	at := all[slices.IndexFunc(all, func(e happening) bool { return e.Type == "WORK_ITEM_FINISHED" })].ID
	f.boss.ramet(0, "run", "fork", f.run, "--at", at, "--run-id", "other")
	f.run = "other"
	return f.resume()
}

// isTakenUp demands that another host carries the run to its end, whose orchestrator is dead, with worker a.
func (f *fleet) isTakenUp(a *worker) {
	t := f.t
	t.Helper()
	s := f.site("heir")
	heir := s.work("--orchestrate")
	heir.says(t, "waits for items")
	if strings.Contains(heir.stderr.String(), "takes up") {
		t.Error("it was taken up before a lease was over")
	}
	f.age()
	heir.says(t, "takes up run "+f.run)
	a.open(4)
	heir.open(4)
	heir.says(t, "run "+f.run+" is DONE")
	there := filepath.Join(s.dir, ".ramet", "runs", f.run)
	if text, err := os.ReadFile(filepath.Join(there, "drafts/i01.txt")); err != nil || string(text) != "signed by a" {
		t.Errorf("what was done before: %q %v", text, err)
	}
	s.ramet(0, "run", "verify", f.run)
	all := f.done(f.resume())
	if count(all, "WORK_ITEM_QUEUED", f.run+":draft:2:i01") != 0 {
		t.Error("what was done is done again")
	}
	for _, scope := range []string{"i01", "i02", "i03", "i04"} {
		if !strings.HasPrefix(f.file("drafts/"+scope+".txt"), "signed by ") {
			t.Errorf("%s is not at home", scope)
		}
	}
	// It is over: nothing is left for another heir, and a second resume says so.
	f.resume().ends(t, 4, "ILLEGAL_TRANSITION")
	a.leaves()
	heir.leaves()
	heir.quiet()
}

// An orchestrator that was only stopped finds the run taken from it, and writes nothing more: its
// next event is refused, or it sees first that the run is done.
func TestAnOrchestratorThatWakesTooLateIsFenced(t *testing.T) {
	t.Parallel()
	f := newFleet(t, signed)
	a := f.worker("a")
	k := f.start()
	testkit.WaitUntil(t, "it works", a.waits)
	f.stop(k)
	s := f.site("heir")
	heir := s.work("--orchestrate")
	heir.says(t, "waits for items")
	f.age()
	heir.says(t, "takes up run "+f.run)
	a.open(5)
	heir.open(5)
	heir.says(t, "run "+f.run+" is DONE")
	before := len(f.events())
	k.signal(t, syscall.SIGCONT)
	<-k.over
	if all := k.stdout.String() + k.stderr.String(); !strings.Contains(all, "error[FENCED]") && !strings.Contains(all, "run "+f.run+" is DONE:") {
		t.Errorf("it says:\n%s", all)
	}
	if after := len(f.events()); after != before {
		t.Errorf("it wrote %d events", after-before)
	}
	f.done(f.resume())
	a.leaves()
	heir.leaves()
}
