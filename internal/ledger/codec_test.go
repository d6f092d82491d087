package ledger

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

// noon is when the tests begin; minute(n) is n minutes later.
var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// nobodyGone judges that all live.
func nobodyGone(Entry) (string, bool) { return "", false }

// allGone judges that none does.
func allGone(Entry) (string, bool) { return "its owner has ended", true }

func spawn(t *testing.T, s *Sheet, id string, at time.Time) Entry {
	t.Helper()
	e := testkit.Must(s.Spawn(Start{ID: id, Type: "backend-specialist", Plan: "02", Group: "API Endpoints"}, at))(t)
	return e
}

func move(t *testing.T, s *Sheet, id string, to Status, at time.Time) Entry {
	t.Helper()
	e := testkit.Must(s.Move(id, to, "", at))(t)
	return e
}

func resume(t *testing.T, s *Sheet, old, id string, at time.Time) Entry {
	t.Helper()
	e := testkit.Must(s.Resume(old, Start{ID: id}, at, nobodyGone))(t)
	return e
}

// refused demands a code and words of the message.
func refused(t *testing.T, err error, code fault.Code, words ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Fatalf("%q does not say %q", err, w)
		}
	}
}

// drawn is the sheet in one line: id:status, separated by spaces.
func drawn(s *Sheet) string {
	var words []string
	for _, e := range s.Entries() {
		words = append(words, e.ID+":"+string(e.Status))
	}
	return strings.Join(words, " ")
}

func draws(t *testing.T, s *Sheet, want string) {
	t.Helper()
	if got := drawn(s); got != want {
		t.Fatalf("the sheet holds\n     %s\nnot  %s", got, want)
	}
}

// sheet makes one of a drawing; max_entries is limit.
func sheet(t *testing.T, limit int, drawing string) *Sheet {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"version":"1.0","max_entries":` + itoa(limit) + `,"entries":[`)
	for i, word := range strings.Fields(drawing) {
		if i > 0 {
			b.WriteByte(',')
		}
		part := strings.Split(word, ":") // id:status[:resumed_by[:resumes]]
		b.WriteString(`{"agent_id":"` + part[0] + `","status":"` + part[1] + `","timestamp":"` + minute(i).Format(layout) + `"`)
		if len(part) > 2 && part[2] != "" {
			b.WriteString(`,"resumed_by":"` + part[2] + `"`)
		}
		if len(part) > 3 {
			b.WriteString(`,"resumes":"` + part[3] + `"`)
		}
		b.WriteByte('}')
	}
	b.WriteString(`]}`)
	s := testkit.Must(Parse([]byte(b.String())))(t)
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }

func TestErrorParseError_SummariesTellWhatTheyKnow(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Summary
		ok   bool
	}{
		"plain":         {"---\nplan: 02\nstatus: completed\nexecuted_by_agent: a5023ff\ncompleted_at: 2026-01-15T14:45:32Z\n---\n# Done\n", Summary{"02", "completed", "a5023ff", noon.Add(165*60e9 + 32e9)}, true},
		"quotes":        {"---\nplan: \"02\" # the second\nstatus: 'partial'\n---", Summary{Plan: "02", Status: "partial"}, true},
		"comment":       {"---\nplan: 02 # two\nstatus: # none\n---\n", Summary{Plan: "02"}, true},
		"DOS":           {"\uFEFF---\r\nplan: 3\r\n---\r\n", Summary{Plan: "3"}, true},
		"nested":        {"---\ntags:\n  plan: 9\n  - x\nplan: 3\nother: {status: failed}\n...\n", Summary{Plan: "3"}, true},
		"no end":        {"---\nplan: 02\n", Summary{}, false},
		"none":          {"# Summary\nplan: 02\n", Summary{}, false},
		"later":         {"\n---\nplan: 02\n---\n", Summary{}, false},
		"empty":         {"", Summary{}, false},
		"a bad time":    {"---\nplan: 1\ncompleted_at: yesterday\n---\n", Summary{Plan: "1"}, true},
		"a time offset": {"---\ncompleted_at: 2026-01-15T13:00:00+01:00\n---\n", Summary{CompletedAt: noon}, true},
		"an open quote": {"---\nplan: \"02\nstatus: x\n---\n", Summary{Plan: `"02`, Status: "x"}, true},
	} {
		got, ok := ParseSummary([]byte(c.text))
		if ok != c.ok || got != c.want {
			t.Errorf("%s: %+v %t", name, got, ok)
		}
	}
}

func TestErrorParseError_PartialIsInterruptedSkippedIsNothing(t *testing.T) {
	s := Rebuild([]Summary{
		{"04", "failed", "d", minute(4)},
		{"01", "completed", "a", minute(1)},
		{"02", "partial", "b", minute(2)},
		{"03", "skipped", "c", minute(3)},
		{"05", "completed", "", minute(5)}, // nobody did it
		{"06", "", "f", minute(6)},
		{"07", "odd", "g", minute(7)},
	})
	draws(t, s, "a:completed b:interrupted d:failed g:odd")
	for _, e := range s.Entries() {
		if !e.Recovered || e.Description != "Execute plan "+e.Plan || e.EndedAt.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	if !strings.Contains(string(s.Format()), `"recovered": true`) {
		t.Error("it is not marked in the file")
	}
	resume(t, s, "b", "e", minute(9)) // it can be gone on with
}

func FuzzParseSummary(f *testing.F) {
	f.Add([]byte("---\nplan: 02\nstatus: \"completed\"\nexecuted_by_agent: 'a' # x\ncompleted_at: 2026-01-15T14:45:32Z\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, ok := ParseSummary(data)
		if !ok && m != (Summary{}) {
			t.Fatalf("%+v", m)
		}
		if utf8.Valid(data) && strings.ContainsAny(m.Plan+m.Status+m.Agent, "\n") {
			t.Fatalf("%+v", m)
		}
		s := Rebuild([]Summary{m})
		again, err := Parse(s.Format())
		if err != nil || again.Len() != s.Len() {
			t.Fatalf("%v: %s", err, s.Format())
		}
	})
}

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
