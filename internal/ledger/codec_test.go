package ledger

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// foreign is a file as another tool may leave it: fields, entries and a status that
// ramet does not know, other types than ours, another order, odd spelling.
const foreign = `{ "tool" : {"name":"x", "n": 1.50} ,
 "entries":[ null , 7, "text", [], {"status":"paused","agent_id":"p", "nested":{"deep":[1,{"a":null}]}},
   {"completion_timestamp":null,"zeta":1e2,"status":"spawned","agent_id":"a\u0062c","owner":"me","timeout_minutes":"soon","timestamp":12},
   {"agent_id":null,"status":null,"timestamp":null,"plan":7,"resumes":{},"recovered":"yes"} ],
 "version":"1.7","max_entries": 5e1, "trailing":[]}
`

func TestForeignFile_WhatIsNotOursIsKept(t *testing.T) {
	s := testkit.Must(Parse([]byte(foreign)))(t)
	if s.Len() != 7 || len(s.Entries()) != 3 {
		t.Fatalf("%d elements, %d entries", s.Len(), len(s.Entries()))
	}
	move(t, s, "abc", Completed, noon)
	out := s.Format()
	var before, after map[string]any
	testkit.OK(t, json.Unmarshal([]byte(foreign), &before))
	testkit.OK(t, json.Unmarshal(out, &after))
	changed := before["entries"].([]any)[5].(map[string]any)
	changed["status"], changed["completion_timestamp"] = "completed", "2026-01-15T12:00:00.000Z"
	if !reflect.DeepEqual(before, after) {
		t.Errorf("%s", out)
	}
	order := []string{`"tool"`, `{"name":"x", "n": 1.50}`, `"entries"`, `{"status":"paused","agent_id":"p", "nested":{"deep":[1,{"a":null}]}}`,
		`"completion_timestamp"`, `"zeta": 1e2`, `"status"`, `"agent_id": "a\u0062c"`, `"owner": "me"`, `"version": "1.7"`, `"max_entries": 5e1`, `"trailing"`}
	at := 0
	for _, word := range order {
		i := strings.Index(string(out[at:]), word)
		if i < 0 {
			t.Fatalf("%s is not where it was:\n%s", word, out)
		}
		at += i + len(word)
	}
}

func TestForeignFile_WrongTypesAreAbsentNotFatal(t *testing.T) {
	s, err := Parse([]byte(foreign))
	testkit.OK(t, err)
	e, ok := s.Find("abc")
	if !ok || e.Owner != nil || e.Minutes != 0 || !e.At.IsZero() || e.Overdue(noon) {
		t.Errorf("%+v", e)
	}
	if _, ok := s.Find(""); ok {
		t.Error("an entry without an id can be found")
	}
	if last := s.Entries()[2]; last.Plan != "" || last.Recovered || last.Status != "" {
		t.Errorf("%+v", last)
	}
	_, err = s.Move("p", Completed, "", noon)
	refused(t, err, fault.IllegalTransition, "paused", "legal from it: nothing")
}

func TestForeignFile_ExtraFieldsAreShown(t *testing.T) {
	s := testkit.Must(Parse([]byte(foreign)))(t)
	e, _ := s.Find("p")
	extra := e.Extra()
	if len(extra) != 1 || extra[0].Key != "nested" {
		t.Errorf("%+v", extra)
	}
}

func TestADuplicateKeyCountsAsTheLastOne(t *testing.T) {
	s := testkit.Must(Parse([]byte(`{"entries":[{"agent_id":"a","status":"completed","status":"spawned"}]}`)))(t)
	move(t, s, "a", Failed, noon)
	var doc struct{ Entries []struct{ Status string } }
	if err := json.Unmarshal(s.Format(), &doc); err != nil || doc.Entries[0].Status != "failed" {
		t.Errorf("%+v %v", doc, err)
	}
}

func TestWhatIsNoLedgerIsCorrupt(t *testing.T) {
	for name, data := range map[string]string{
		"empty":               "",
		"spaces":              " \n",
		"null":                "null",
		"a list":              "[]",
		"a number":            "7",
		"entries that are no": `{"entries":{}}`,
		"entries of text":     `{"entries":"x"}`,
		"two documents":       `{"entries":[]}{}`,
		"no JSON":             `{"entries":[`,
		"NUL bytes":           strings.Repeat("\x00", 64),
	} {
		if _, err := Parse([]byte(data)); !fault.Is(err, fault.StorageCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACutFileIsCorruptAtEveryByte(t *testing.T) {
	data := example(t)
	for n := range len(data) {
		if _, err := Parse(data[:n]); !fault.Is(err, fault.StorageCorrupt) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
}

func TestMissingMembersAreAddedWhenItIsWritten(t *testing.T) {
	for _, data := range []string{`{}`, `{"entries":null}`, "\xef\xbb\xbf{}"} {
		s := testkit.Must(Parse([]byte(data)))(t)
		spawn(t, s, "a", noon)
		again := testkit.Must(Parse(s.Format()))(t)
		draws(t, again, "a:spawned")
		if err := again.Writable(); err != nil || again.Limit() != Limit {
			t.Error(err)
		}
	}
}

func TestVersions_ALaterMajorOneIsReadOnly(t *testing.T) {
	for version, code := range map[string]fault.Code{
		`"1.0"`: "", `"1.9"`: "", `"1"`: "", `1`: "", `1.0`: "", `"0.9"`: "", `null`: "",
		`"2.0"`: fault.StorageNewer, `2`: fault.StorageNewer, `"10"`: fault.StorageNewer,
		`"x"`: fault.StorageForeign, `{}`: fault.StorageForeign, `""`: fault.StorageForeign, `"-1"`: fault.StorageForeign,
	} {
		s := testkit.Must(Parse([]byte(`{"version":` + version + `,"entries":[{"agent_id":"a","status":"spawned"}]}`)))(t)
		draws(t, s, "a:spawned")
		if err := s.Writable(); (err == nil) != (code == "") || err != nil && !fault.Is(err, code) {
			t.Errorf("%s: %v, want %q", version, err, code)
		}
	}
}

func TestTimeoutsThatAreNoneOrEndless(t *testing.T) {
	for minutes, want := range map[string]float64{`1e400`: 0, `-5`: -5, `1e300`: 1e300, `99999999`: 99999999, `null`: 0, `true`: 0} {
		s := testkit.Must(Parse([]byte(`{"entries":[{"agent_id":"a","status":"spawned","timestamp":"2026-01-15T12:00:00Z","timeout_minutes":` + minutes + `}]}`)))(t)
		if e := s.Entries()[0]; e.Minutes != want || e.Overdue(noon.AddDate(50, 0, 0)) {
			t.Errorf("%s: %+v", minutes, e)
		}
	}
	_, err := New().Spawn(Start{ID: "a", Minutes: 2 * MaxMinutes}, noon)
	refused(t, err, fault.Usage)
}

func TestIDsThatCannotBe(t *testing.T) {
	for _, id := range []string{"", "-a", "_a", "a b", "a\n", "a/b", "ä", strings.Repeat("a", 129)} {
		_, err := New().Spawn(Start{ID: id}, noon)
		refused(t, err, fault.InvalidID)
	}
	for _, id := range []string{"a", "a5023ff", "agent-1", "A.b:c@d_e", strings.Repeat("a", 128)} {
		if _, err := New().Spawn(Start{ID: id}, noon); err != nil {
			t.Error(err)
		}
	}
}

func TestTextsThatCannotBe(t *testing.T) {
	for _, st := range []Start{{ID: "a", Type: "\xff"}, {ID: "a", Group: "a\x00b"}, {ID: "a", Description: strings.Repeat("x", maxText+1)}} {
		_, err := New().Spawn(st, noon)
		refused(t, err, fault.InvalidText)
	}
	_, err := New().Spawn(Start{ID: "a", Minutes: -1}, noon)
	refused(t, err, fault.Usage)
}

func TestHostileTextsStayText(t *testing.T) {
	s := New()
	const evil = "\"}],\x1b[2J<script>\u2028\\"
	testkit.Must(s.Spawn(Start{ID: "a", Description: evil}, noon))(t)
	again := testkit.Must(Parse(s.Format()))(t)
	if e, _ := again.Find("a"); e.Description != evil {
		t.Errorf("%q", e.Description)
	}
}

func TestAnEntryComesBackAsItWasWritten(t *testing.T) {
	s := New()
	want := testkit.Must(s.Spawn(Start{ID: "a", Type: "t", Plan: "1", Group: "g", Minutes: 0.5,
		Owner: &Owner{Host: "h", PID: 7, Start: "x.y.9"}}, minute(3)))(t)
	again := testkit.Must(Parse(s.Format()))(t)
	if got, _ := again.Find("a"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nnot %+v", got, want)
	}
}

func TestOwnersThatNobodyCanAskAreNone(t *testing.T) {
	for _, owner := range []string{`null`, `"me"`, `{}`, `{"host":"h"}`, `{"host":"h","pid":"7"}`, `{"host":"h","pid":-1}`, `{"host":1,"pid":7}`} {
		s := testkit.Must(Parse([]byte(`{"entries":[{"agent_id":"a","status":"spawned","owner":` + owner + `}]}`)))(t)
		if e := s.Entries()[0]; e.Owner != nil {
			t.Errorf("%s: %+v", owner, e.Owner)
		}
	}
}

// FuzzParse: whatever is in a file, it is refused as corrupt, or it is read, changed and
// written so that nothing of it is lost.
func FuzzParse(f *testing.F) {
	f.Add([]byte(foreign))
	f.Add([]byte(`{"version":"1.0","max_entries":2,"entries":[{"agent_id":"a","status":"resumed","resumed_by":"a"},{"agent_id":"a","resumes":"a","status":"completed"}]}`))
	f.Add([]byte(`{"entries":[{"":{}, "a":"\ud800"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			if !fault.Is(err, fault.StorageCorrupt) {
				t.Fatal(err)
			}
			return
		}
		var before map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\uFEFF")), &before) != nil {
			t.Fatal("it was accepted and is not JSON object")
		}
		same(t, before, s.Format())
		count := s.Len()
		for _, e := range s.Entries() {
			s.Move(e.ID, Failed, "why", noon)
			s.Pointer(e.ID)
			s.Outcome(e)
			e.Extra()
		}
		s.Sweep(allGone, noon)
		if _, err := s.Spawn(Start{ID: "fuzz-new"}, noon); err != nil && !fault.Is(err, fault.Conflict) {
			t.Fatal(err)
		}
		again := testkit.Must(Parse(s.Format()))(t)
		if again.Len() != s.Len() || s.Len() > count+1 || !slices.EqualFunc(again.Entries(), s.Entries(), func(a, b Entry) bool { return a.ID == b.ID && a.Status == b.Status }) {
			t.Fatalf("%s", s.Format())
		}
	})
}

// same demands that everything of a document is in another, which may have a version
// and entries more.
func same(t *testing.T, before map[string]any, out []byte) {
	t.Helper()
	var after map[string]any
	if err := json.Unmarshal(out, &after); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, key := range []string{"version", "entries"} {
		if before[key] == nil {
			delete(before, key)
			delete(after, key)
		}
	}
	if !reflect.DeepEqual(before, after) {
		t.Fatalf("%v became %v", before, after)
	}
}
