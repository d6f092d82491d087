package ledger

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// Every operation, query, state, example and error row of the source document, in its
// order. Where ramet's specification corrects the source, the name of the test says how.

func example(t *testing.T) []byte {
	t.Helper()
	data := testkit.Must(os.ReadFile("testdata/example.json"))(t)
	return data
}

// States and the lifecycle.

func TestStatesAndTheirTransitions_TimeoutIsReachedFromSpawned(t *testing.T) {
	for _, from := range append(Statuses(), "paused", "") {
		for _, to := range Statuses() {
			legal := from == Spawned && slices.Contains([]Status{Completed, Failed, Timeout, Interrupted}, to) ||
				from == Interrupted && to == Failed
			e := Entry{ID: "a", Status: from, At: noon}
			got, err := e.Move(to, "", minute(1))
			switch {
			case from == to:
				if err != nil || !got.EndedAt.IsZero() {
					t.Errorf("%s twice: %v, %v", to, got, err)
				}
			case legal:
				if err != nil || got.Status != to || !got.EndedAt.Equal(minute(1)) {
					t.Errorf("%s to %s: %v, %v", from, to, got, err)
				}
			default:
				if !fault.Is(err, fault.IllegalTransition) || !strings.Contains(err.Error(), "legal from") {
					t.Errorf("%s to %s: %v, %v", from, to, got, err)
				}
				for _, next := range from.Next() {
					if !strings.Contains(err.Error(), string(next)) {
						t.Errorf("%v does not name %s", err, next)
					}
				}
			}
		}
	}
}

func TestStateResumed_IsFinalForTheOldEntryAndTheNewOneGoesOn(t *testing.T) {
	s := New()
	spawn(t, s, "a", minute(0))
	move(t, s, "a", Interrupted, minute(1))
	resume(t, s, "a", "b", minute(2))
	for _, to := range []Status{Completed, Failed, Timeout, Interrupted} {
		_, err := s.Move("a", to, "", minute(3))
		refused(t, err, fault.IllegalTransition, "b continues it")
	}
	move(t, s, "b", Completed, minute(3))
	draws(t, s, "a:resumed b:completed")
}

func TestStateResumedThenFailed(t *testing.T) {
	s := New()
	spawn(t, s, "a", minute(0))
	move(t, s, "a", Interrupted, minute(1))
	resume(t, s, "a", "b", minute(2))
	move(t, s, "b", Failed, minute(3))
	draws(t, s, "a:resumed b:failed")
}

// Operations.

func TestOnSpawn(t *testing.T) {
	s := New()
	spawn(t, s, "a5023ff", minute(0))
	want := `{
  "version": "1.0",
  "max_entries": 50,
  "entries": [
    {
      "agent_id": "a5023ff",
      "agent_type": "backend-specialist",
      "task_description": "Execute plan 02: API Endpoints",
      "plan": "02",
      "task_group": "API Endpoints",
      "timestamp": "2026-01-15T12:00:00.000Z",
      "status": "spawned",
      "completion_timestamp": null
    }
  ]
}`
	if got := string(s.Format()); got != want {
		t.Fatalf("%s", got)
	}
}

func TestOnSpawn_TheIDIsAllocatedBeforeTheStart(t *testing.T) {
	_, err := New().Spawn(Start{Type: "t", Plan: "1", Group: "g"}, noon)
	refused(t, err, fault.InvalidID)
}

func TestOnSpawn_ALiveIDIsAConflict(t *testing.T) {
	s := New()
	spawn(t, s, "a", minute(0))
	_, err := s.Spawn(Start{ID: "a"}, minute(1))
	refused(t, err, fault.Conflict, "a is spawned already")
	move(t, s, "a", Interrupted, minute(2))
	_, err = s.Spawn(Start{ID: "a"}, minute(3))
	refused(t, err, fault.Conflict, "track resume a")
	draws(t, s, "a:interrupted")
}

func TestOnCompletion(t *testing.T) {
	for _, status := range []Status{Completed, Failed, Timeout} {
		s := New()
		spawn(t, s, "a", minute(0))
		e := move(t, s, "a", status, minute(5))
		if e.Status != status || !e.EndedAt.Equal(minute(5)) {
			t.Errorf("%+v", e)
		}
		if again := move(t, s, "a", status, minute(9)); !again.EndedAt.Equal(minute(5)) {
			t.Errorf("%s twice moves the time: %v", status, again.EndedAt)
		}
	}
}

func TestOnCompletion_AnUnknownIDIsNotFoundAndNotIgnored(t *testing.T) {
	s := New()
	spawn(t, s, "a5023ff", minute(0))
	_, err := s.Move("a5023f", Completed, "", minute(1))
	refused(t, err, fault.NotFound, `did you mean "a5023ff"?`)
	_, err = s.Move("", Completed, "", minute(1))
	refused(t, err, fault.NotFound)
}

func TestOnInterrupt_ThePointerStays(t *testing.T) {
	s := New()
	spawn(t, s, "a", minute(0))
	if e := move(t, s, "a", Interrupted, minute(5)); !e.EndedAt.Equal(minute(5)) {
		t.Errorf("%+v", e)
	}
	if id, ok := s.Pointer("a"); id != "a" || !ok {
		t.Errorf("the pointer goes to %q %t", id, ok)
	}
}

func TestOnResume_CarriesTypePlanGroupAndDescription(t *testing.T) {
	s := New()
	old := testkit.Must(s.Spawn(Start{ID: "old", Type: "frontend-specialist", Plan: "03", Group: "Frontend", Minutes: 30}, minute(0)))(t)
	move(t, s, "old", Interrupted, minute(1))
	e := resume(t, s, "old", "new", minute(2))
	if e.Type != old.Type || e.Plan != old.Plan || e.Group != old.Group || e.Description != old.Description || e.Minutes != 30 ||
		e.Resumes != "old" || e.Status != Spawned || !e.EndedAt.IsZero() {
		t.Errorf("%+v", e)
	}
	was, _ := s.Find("old")
	if was.Status != Resumed || was.ResumedBy != "new" || !was.EndedAt.Equal(minute(1)) {
		t.Errorf("%+v", was)
	}
}

func TestOnResume_WithoutADescriptionItIsResumedExecution(t *testing.T) {
	s := testkit.Must(Parse([]byte(`{"entries":[{"agent_id":"x","status":"interrupted"}]}`)))(t)
	if e := resume(t, s, "x", "y", noon); e.Description != "Resumed execution" {
		t.Errorf("%+v", e)
	}
}

func TestOnResume_OnlyWhatIsInterruptedOrGone(t *testing.T) {
	for _, c := range []struct {
		status Status
		judge  Judge
		code   fault.Code
	}{
		{Interrupted, nobodyGone, ""},
		{Spawned, allGone, ""},
		{Spawned, nobodyGone, fault.IllegalTransition},
		{Completed, allGone, fault.IllegalTransition},
		{Failed, allGone, fault.IllegalTransition},
		{Timeout, allGone, fault.IllegalTransition},
		{Resumed, allGone, fault.IllegalTransition},
		{"paused", allGone, fault.IllegalTransition},
	} {
		s := sheet(t, 50, "a:"+string(c.status))
		_, err := s.Resume("a", Start{ID: "b"}, minute(9), c.judge)
		if c.code != "" {
			refused(t, err, c.code)
			draws(t, s, "a:"+string(c.status))
			continue
		}
		testkit.OK(t, err)
		draws(t, s, "a:resumed b:spawned")
	}
}

func TestOnResume_WhatIsGoneIsMarkedInterruptedFirst(t *testing.T) {
	s := New()
	spawn(t, s, "a", minute(0))
	testkit.Must(s.Resume("a", Start{ID: "b"}, minute(7), allGone))(t)
	if e, _ := s.Find("a"); e.Reason != "its owner has ended" || !e.EndedAt.Equal(minute(7)) {
		t.Errorf("%+v", e)
	}
}

func TestOnResume_AsALiveIDIsAConflict(t *testing.T) {
	s := sheet(t, 50, "a:interrupted b:spawned")
	_, err := s.Resume("a", Start{ID: "b"}, minute(7), nobodyGone)
	refused(t, err, fault.Conflict)
	draws(t, s, "a:interrupted b:spawned")
	if s.Changed() {
		t.Error("a refused resume changed the sheet")
	}
}

func TestOnResume_UnderItsOwnID(t *testing.T) {
	s := sheet(t, 50, "a:interrupted")
	first := s.Entries()[0]
	e := resume(t, s, "a", "a", noon) // before the clock of the first
	if !e.At.After(first.At) {
		t.Error("(agent_id, timestamp) is not a key any more")
	}
	draws(t, s, "a:resumed a:spawned")
	move(t, s, "a", Completed, minute(9))
	draws(t, s, "a:resumed a:completed")
	if end := s.Outcome(s.Entries()[0]); end.Status != Completed {
		t.Errorf("%+v", end)
	}
}

// Queries.

func TestFindActiveAgent_WithItsStatus(t *testing.T) {
	s := sheet(t, 50, "a:spawned b:interrupted c:spawned")
	if e, ok := s.Active("b"); !ok || e.ID != "b" || e.Status != Interrupted {
		t.Errorf("%+v", e)
	}
}

func TestFindActiveAgent_WithoutAPointerTheNewestSpawned(t *testing.T) {
	s := sheet(t, 50, "a:spawned b:spawned c:completed")
	if e, ok := s.Active(""); !ok || e.ID != "b" {
		t.Errorf("%+v", e)
	}
	if _, ok := sheet(t, 50, "a:completed").Active(""); ok {
		t.Error("somebody is active")
	}
}

func TestFindActiveAgent_APointerToNothingIsRepaired(t *testing.T) {
	for drawing, want := range map[string]string{"a:spawned b:spawned": "b", "a:completed": "", "": ""} {
		if id, ok := sheet(t, 50, drawing).Pointer("nobody"); id != want || ok != (want != "") {
			t.Errorf("%s: %q %t", drawing, id, ok)
		}
	}
}

func TestFindActiveAgent_APointerThatACrashLeftIsFinished(t *testing.T) {
	for drawing, want := range map[string]string{
		"a:completed b:spawned":                    "",
		"a:failed":                                 "",
		"a:timeout":                                "",
		"a:resumed:b b:spawned::a":                 "b",
		"a:resumed:b b:completed::a":               "",
		"a:resumed:b b:resumed:c:a c:spawned::b":   "c",
		"a:resumed:gone":                           "",
		"a:paused":                                 "a",
		"a:resumed:a a:interrupted::a":             "a",
		"a:resumed:b b:resumed:a:a":                "",
		"a:completed a:spawned":                    "a",
		"a:resumed:b b:interrupted::a c:completed": "b",
	} {
		if id, ok := sheet(t, 50, drawing).Pointer("a"); id != want || ok != (want != "") {
			t.Errorf("%s: %q %t", drawing, id, ok)
		}
	}
}

func TestFindInterruptedAgent_NotWhoIsSpawnedAndLives(t *testing.T) {
	s := sheet(t, 50, "a:interrupted b:resumed:x c:spawned")
	if e, ok := s.Interrupted(nobodyGone); !ok || e.ID != "a" {
		t.Errorf("%+v", e)
	}
	if e, ok := s.Interrupted(allGone); !ok || e.ID != "c" {
		t.Errorf("%+v", e)
	}
	if _, ok := sheet(t, 50, "b:resumed:x c:completed").Interrupted(allGone); ok {
		t.Error("somebody is interrupted")
	}
}

func TestFindInterruptedAgent_PastItsTimeout(t *testing.T) {
	s := New()
	testkit.Must(s.Spawn(Start{ID: "a", Minutes: 10}, noon))(t)
	e := s.Entries()[0]
	if e.Overdue(minute(10)) || !e.Overdue(minute(11)) || e.Overdue(minute(-60)) {
		t.Error("10 minutes are not 10 minutes")
	}
}

func TestGetPlanHistory_InTheOrderOfTheFileNotOfTheClock(t *testing.T) {
	s := New()
	for i, id := range []string{"a", "b", "c"} {
		spawn(t, s, id, minute(-i)) // the clock goes backwards
	}
	testkit.Must(s.Spawn(Start{ID: "x", Plan: "03"}, minute(9)))(t)
	var ids []string
	for _, e := range s.Plan("02") {
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, []string{"a", "b", "c"}) || len(s.Plan("04")) != 0 {
		t.Errorf("%v", ids)
	}
}

// The schema's example.

func TestSchemaExample_ReadAndWrittenByteForByte(t *testing.T) {
	s := testkit.Must(Parse(example(t)))(t)
	if got := s.Format(); string(got) != string(example(t)) {
		t.Errorf("%s", got)
	}
	draws(t, s, "a5023ff:completed b7134aa:interrupted c9245bb:spawned")
	if e := s.Entries()[2]; e.Type != "frontend-specialist" || e.Plan != "03" || e.Resumes != "b7134aa" || !e.EndedAt.IsZero() || e.At.Hour() != 15 {
		t.Errorf("%+v", e)
	}
	if s.Limit() != 50 || s.Writable() != nil || s.Changed() {
		t.Error("version, limit or state")
	}
}

func TestSchemaExample_AChangeChangesNothingElse(t *testing.T) {
	s := testkit.Must(Parse(example(t)))(t)
	move(t, s, "c9245bb", Failed, minute(600))
	want := strings.Replace(strings.Replace(string(example(t)), `"status": "spawned"`, `"status": "failed"`, 1),
		`"completion_timestamp": null`, `"completion_timestamp": "2026-01-15T22:00:00.000Z"`, 1)
	if got := string(s.Format()); got != want {
		t.Errorf("%s", got)
	}
}

// Max entries.

func TestMaxEntries(t *testing.T) {
	for _, c := range []struct {
		rule          string
		limit         int
		before, after string // of the spawn of d
	}{
		{"the oldest that completed goes", 3, "a:spawned b:completed c:completed", "a:spawned c:completed d:spawned"},
		{"or failed", 3, "a:spawned b:failed c:completed", "a:spawned c:completed d:spawned"},
		{"or timed out", 3, "a:spawned b:timeout c:completed", "a:spawned c:completed d:spawned"},
		{"as many as it takes", 2, "a:completed b:failed c:timeout x:completed", "x:completed d:spawned"},
		{"then the oldest that was resumed by one that is not there", 2, "a:interrupted b:resumed:gone c:resumed:gone", "a:interrupted d:spawned"},
		{"not before", 2, "a:resumed:gone b:completed", "a:resumed d:spawned"},
		{"never one that is spawned, interrupted or unknown", 1, "a:spawned b:interrupted c:paused", "a:spawned b:interrupted c:paused d:spawned"},
		{"a chain that goes on stays", 4, "a:resumed:b b:resumed:c:a c:spawned::b x:interrupted", "a:resumed b:resumed c:spawned x:interrupted d:spawned"},
		{"one that ended goes whole", 2, "a:resumed:b b:resumed:c:a c:completed::b x:interrupted", "x:interrupted d:spawned"},
		{"the oldest by its end", 3, "a:resumed:c b:completed c:completed::a", "a:resumed c:completed d:spawned"},
		{"a circle of resumes ends", 2, "a:resumed:b:b b:resumed:a:a c:spawned", "c:spawned d:spawned"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := sheet(t, c.limit, c.before)
			spawn(t, s, "d", minute(9))
			draws(t, s, c.after)
		})
	}
	s := sheet(t, 2, "a:completed b:interrupted")
	resume(t, s, "b", "c", minute(9))
	draws(t, s, "b:resumed c:spawned")
}

func TestMaxEntries_OfNonsenseIsFifty(t *testing.T) {
	for _, limit := range []string{`0`, `-3`, `"9"`, `null`, `1.5`, `{}`, `99999999999999999999`} {
		s := testkit.Must(Parse([]byte(`{"max_entries":` + limit + `,"entries":[]}`)))(t)
		if s.Limit() != Limit {
			t.Errorf("%s: %d", limit, s.Limit())
		}
		if out := string(s.Format()); !strings.Contains(out, `"max_entries": `+limit) {
			t.Errorf("%s was not kept: %s", limit, out)
		}
	}
}

// Errors. Those of the disk are in disk_linux_test.go.

func TestErrorDuplicateID_TheKeyIsIDAndTimeAndUpdatesGoToTheNewestLive(t *testing.T) {
	s := New()
	spawn(t, s, "a", minute(0))
	move(t, s, "a", Completed, minute(1))
	e := spawn(t, s, "a", minute(0)) // the same millisecond
	if !e.At.After(minute(0)) {
		t.Error("two entries have one key")
	}
	move(t, s, "a", Failed, minute(2))
	draws(t, s, "a:completed a:failed")

	s = sheet(t, 50, "a:spawned a:spawned a:completed") // as others leave it
	move(t, s, "a", Completed, minute(9))
	draws(t, s, "a:spawned a:completed a:completed")
	move(t, s, "a", Completed, minute(9))
	draws(t, s, "a:completed a:completed a:completed")
}

func TestErrorClockBackwards_NothingEndsBeforeItBegan(t *testing.T) {
	s := New()
	spawn(t, s, "a", minute(0))
	if e := move(t, s, "a", Interrupted, minute(-60)); !e.EndedAt.Equal(e.At) {
		t.Errorf("%+v", e)
	}
	if e := resume(t, s, "a", "b", minute(-60)); e.At.Before(minute(0)) {
		t.Errorf("%+v", e)
	}
}

func TestOutcomeIsTheEndOfTheChain(t *testing.T) {
	s := sheet(t, 50, "a:resumed:b b:resumed:c:a x:completed c:failed::b")
	all := s.Outcomes()
	for i, want := range []string{"c", "c", "x", "c"} {
		if got := all(s.Entries()[i]); got.ID != want {
			t.Errorf("%d: %s, want %s", i, got.ID, want)
		}
	}
	// In a file that others sorted newest first.
	s = sheet(t, 50, "b:completed::a a:resumed:b")
	if got := s.Outcome(s.Entries()[1]); got.ID != "b" {
		t.Errorf("%s", got.ID)
	}
}

func TestSweepMarksTheGoneAndOnlyThem(t *testing.T) {
	s := sheet(t, 50, "a:spawned b:completed c:spawned d:paused")
	marked := s.Sweep(func(e Entry) (string, bool) { return "gone", e.ID != "a" }, minute(9))
	if len(marked) != 1 || marked[0].ID != "c" || marked[0].Reason != "gone" {
		t.Errorf("%+v", marked)
	}
	draws(t, s, "a:spawned b:completed c:interrupted d:paused")
}
