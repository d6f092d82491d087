package ledger

import (
	"os"
	"strconv"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestAnOwnerThatDiedLeavesItsAgentsGone(t *testing.T) {
	f := place(t)
	p := start(t, "sit")
	p.lines.Scan()
	pid := testkit.Must(strconv.Atoi(p.lines.Text()))(t)
	owner := testkit.Must(FindOwner(pid))(t)
	for id, o := range map[string]*Owner{"theirs": owner, "ours": SelfOwner(), "nobodys": nil,
		"elsewhere": {Host: "another-host.invalid", PID: pid}} {
		testkit.Must(f.Spawn(t.Context(), Start{ID: id, Owner: o}))(t)
	}
	gone := func() (out []string) {
		v := testkit.Must(f.Read(t.Context()))(t)
		judge := f.Judge()
		for _, e := range v.Entries() {
			if _, is := judge(e); is {
				out = append(out, e.ID)
			}
		}
		return out
	}
	if got := gone(); len(got) != 0 {
		t.Fatalf("gone already: %v", got)
	}
	if _, err := f.Resume(t.Context(), "theirs", Start{ID: "next"}); !fault.Is(err, fault.IllegalTransition) {
		t.Fatalf("one whose owner lives was resumed: %v", err)
	}
	if swept, err := f.Sweep(t.Context()); err != nil || len(swept) != 0 {
		t.Fatalf("%v %v", swept, err)
	}
	p.Process.Kill()
	p.Wait()
	if got := gone(); len(got) != 1 || got[0] != "theirs" {
		t.Fatalf("gone are %v", got)
	}
	if _, err := FindOwner(pid); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	e, err := f.Resume(t.Context(), "theirs", Start{ID: "next"})
	if err != nil || e.Resumes != "theirs" {
		t.Fatalf("%+v %v", e, err)
	}
}

func TestAProcessThatOnlyHasTheNumberIsNotTheOwner(t *testing.T) {
	me := SelfOwner()
	if me.Start == "" {
		t.Log("this system does not tell when a process began")
	}
	if ownerDead(me.PID, me.Start) {
		t.Error("this process is dead")
	}
	if me.Start != "" && !ownerDead(me.PID, me.Start+"1") {
		t.Error("another that began at another time is taken for it")
	}
	if ownerDead(os.Getpid(), "") {
		t.Error("without a time the number alone must do")
	}
}

func TestPastItsTimeItIsGoneWhateverItsOwner(t *testing.T) {
	f := place(t)
	for id, minutes := range map[string]float64{"short": 1, "long": 60, "none": 0} {
		testkit.Must(f.Spawn(t.Context(), Start{ID: id, Minutes: minutes, Owner: SelfOwner()}))(t)
	}
	f.now = func() time.Time { return fileNoon.Add(2 * time.Minute) }
	swept, err := f.Sweep(t.Context())
	if err != nil || len(swept) != 1 || swept[0].ID != "short" || swept[0].Status != Interrupted || swept[0].Reason == "" {
		t.Fatalf("%+v %v", swept, err)
	}
	if swept, err = f.Sweep(t.Context()); err != nil || len(swept) != 0 {
		t.Errorf("%+v %v", swept, err)
	}
}
