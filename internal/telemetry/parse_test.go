package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

const someID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

// with is a good body with fields changed; the value "-" leaves one out.
func with(pairs ...string) string {
	names := []string{"event_id", "run_id", "agent_name", "job_type", "start_time"}
	values := map[string]string{"event_id": `"` + someID + `"`, "run_id": `"r1"`, "agent_name": `"a"`, "job_type": `"worker"`, "start_time": `"2026-01-02T03:04:05Z"`}
	for i := 0; i < len(pairs); i += 2 {
		if values[pairs[i]] == "" {
			names = append(names, pairs[i])
		}
		values[pairs[i]] = pairs[i+1]
	}
	var out []string
	for _, name := range names {
		if values[name] != "-" {
			out = append(out, fmt.Sprintf("%q: %s", name, values[name]))
		}
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func deep(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }

func TestBadBodies(t *testing.T) {
	for _, c := range []struct{ body, pointer, message, suggestion string }{
		{``, "", "is empty", ""},
		{` `, "", "is empty", ""},
		{`{`, "", "cut off", ""},
		{`[]`, "", "must be an object", ""},
		{`"x"`, "", "must be an object", ""},
		{`nonsense`, "", "not JSON", ""},
		{with() + "x", "", "not JSON", ""},
		{with() + with(), "", "something follows", ""},
		{`{"host": }`, "/host", "not JSON at byte 9", ""},
		{`{"host": "a", "host": "b"}`, "/host", "twice", ""},
		{with("metrics_json", `{"a": {"b": 1, "b": 2}}`), "/metrics_json/a/b", "twice", ""},
		{with("host", "\"\xff\""), "/host", "not JSON", ""},
		{with("host", `"\ud800"`), "/host", "not JSON", ""},
		{with("metrics_json", deep(64)), "/metrics_json" + strings.Repeat("/a", 63), "nested deeper than 64", ""},
		{with("context_json", strings.Repeat("[", 10_001)), "/context_json" + strings.Repeat("/0", 63), "nested deeper", ""},
		{strings.Repeat("[", 100_000), strings.Repeat("/0", 64), "nested deeper", ""},
		{`{"x": "` + strings.Repeat("x", MaxBody) + `"}`, "", "over the limit", ""},
		{with("event_id", "-"), "/event_id", "is missing", ""},
		{with("run_id", "null"), "/run_id", "is missing", ""},
		{with("agent_name", `""`), "/agent_name", "must not be empty", ""},
		{with("job_type", "-"), "/job_type", "is missing", ""},
		{with("start_time", "-"), "/start_time", "is missing", ""},
		{with("agentname", `"x"`), "/agentname", "no such field", "agent_name"},
		{with("satus", `"x"`), "/satus", "no such field", "status"},
		{with("a/b~c", `1`), "/a~1b~0c", "no such field", ""},
		{with("event_id", `"x"`), "/event_id", "must be a UUID", ""},
		{with("event_id", `"../`+someID[3:]+`"`), "/event_id", "must be a UUID", ""},
		{with("event_id", `"`+someID[:35]+`g"`), "/event_id", "must be a UUID", ""},
		{with("event_id", `{}`), "/event_id", "must be a string", ""},
		{with("run_id", `"../../etc/passwd"`), "/run_id", "must not begin with", ""},
		{with("run_id", `"a..b"`), "/run_id", "must not contain", ""},
		{with("run_id", `"a/b"`), "/run_id", `contains '/'`, ""},
		{with("run_id", `"a\\b"`), "/run_id", `contains '\\'`, ""},
		{with("run_id", `"a%2fb"`), "/run_id", `contains '%'`, ""},
		{with("run_id", `"a\u0000b"`), "/run_id", "NUL", ""},
		{with("run_id", `"a\nb"`), "/run_id", "control character", ""},
		{with("run_id", `"--help"`), "/run_id", "must not begin with", ""},
		{with("run_id", `"`+strings.Repeat("x", MaxName+1)+`"`), "/run_id", "over the limit", ""},
		{with("parent_run_id", `"r1"`), "/parent_run_id", "own parent", ""},
		{with("parent_run_id", `"<b>"`), "/parent_run_id", "contains", ""},
		{with("agent_name", `"a\u001b[31m"`), "/agent_name", "control character", ""},
		{with("agent_name", `"a\u0085"`), "/agent_name", "control character", ""},
		{with("agent_name", `7`), "/agent_name", "must be a string", ""},
		{with("job_type", `"wroker"`), "/job_type", "must be one of", "worker"},
		{with("status", `"sucess"`), "/status", "must be one of", "success"},
		{with("status", `""`), "/status", "must be one of", ""},
		{with("status", `true`), "/status", "must be a string", ""},
		{with("start_time", `"2026-01-02T03:04:05"`), "/start_time", "carries no zone", "2026-01-02T03:04:05Z"},
		{with("start_time", `"2026-01-02 03:04:05"`), "/start_time", "carries no zone", "2026-01-02T03:04:05Z"},
		{with("start_time", `"2026-01-02 03:04:05+02:00"`), "/start_time", "not an RFC 3339", "2026-01-02T03:04:05+02:00"},
		{with("start_time", `"2026-13-02T03:04:05Z"`), "/start_time", "not an RFC 3339", ""},
		{with("start_time", `"2026-01-02T3:04:05Z"`), "/start_time", "not an RFC 3339", ""},
		{with("start_time", `1767323045`), "/start_time", "must be a string", ""},
		{with("start_time", `"1969-12-31T23:59:59Z"`), "/start_time", "from 1970", ""},
		{with("start_time", `"9999-12-31T23:59:59-01:00"`), "/start_time", "from 1970 to 9999", ""},
		{with("end_time", `"2026-01-02T03:04:04.999999Z"`), "/end_time", "before start_time", ""},
		{with("end_time", `""`), "/end_time", "not an RFC 3339", ""},
		{with("items_failed", `-1`), "/items_failed", "negative", ""},
		{with("items_failed", `-0`), "/items_failed", "negative", ""},
		{with("items_failed", `1.5`), "/items_failed", "integer", ""},
		{with("items_failed", `"1"`), "/items_failed", "integer", ""},
		{with("items_failed", `9007199254740992`), "/items_failed", "at most", ""},
		{with("items_failed", `99999999999999999999`), "/items_failed", "at most", ""},
		{with("duration_ms", `-5`), "/duration_ms", "negative", ""},
		{with("git_commit_hash", `"HEAD; rm"`), "/git_commit_hash", "hex digits", ""},
		{with("error_details", `"a\u0000"`), "/error_details", "NUL", ""},
		{with("input_summary", `"`+strings.Repeat("x", MaxSummary+1)+`"`), "/input_summary", "over the limit", ""},
		{with("metrics_json", `[]`), "/metrics_json", "must be an object", ""},
		{with("metrics_json", `"[]"`), "/metrics_json", "must contain an object", ""},
		{with("metrics_json", `"{\"a\":{\"b\":1,\"b\":2}}"`), "/metrics_json/a/b", "must contain an object", ""},
		{with("metrics_json", `"{"`), "/metrics_json", "cut off", ""},
		{with("metrics_json", `{"a": [0, 1e400]}`), "/metrics_json/a/1", "does not fit a double", ""},
		{with("metrics_json", `{"a": "`+strings.Repeat("x", MaxObject)+`"}`), "/metrics_json", "over the limit", ""},
	} {
		n, err := ParseNew([]byte(c.body))
		details := Details(err)
		if !fault.Is(err, fault.InvalidField) || len(details) == 0 || !reflect.DeepEqual(n, New{}) {
			t.Errorf("%.200s: %v", c.body, err)
			continue
		}
		got := details[0]
		if c.pointer == "" || strings.Contains(c.message, "missing") {
			for _, one := range details {
				if one.Pointer == c.pointer {
					got = one
				}
			}
		}
		if got.Pointer != c.pointer || !strings.Contains(got.Message, c.message) || got.Suggestion != c.suggestion {
			t.Errorf("%.100s: got %+v, want %s %s %s", c.body, got, c.pointer, c.message, c.suggestion)
		}
		if Malformed(err) != (strings.Contains(c.message, "JSON") || strings.Contains(c.message, "empty") && c.pointer == "" ||
			strings.Contains(c.message, "cut off") && c.pointer == "" || strings.Contains(c.message, "twice") || strings.Contains(c.message, "follows")) {
			t.Errorf("%.100s: malformed: %v", c.body, Malformed(err))
		}
	}
	_, err := ParseNew([]byte(`{"a": 1, "status": 7, "items_failed": -1}`))
	if got := Details(err); len(got) != 8 { // and five that are missing
		t.Errorf("not all that is wrong is told: %v", got)
	}
	if got := Details(second(ParseNew([]byte("{" + strings.Repeat(`"x":1,`, 1) + manyFields(100) + "}")))); len(got) != maxComplaints {
		t.Errorf("%d complaints", len(got))
	}
}

func second[T any](_ T, err error) error { return err }

func manyFields(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"f%d": 1`, i))
	}
	return strings.Join(out, ",")
}

func TestGoodBodies(t *testing.T) {
	for _, c := range []struct {
		body  string
		check func(New) bool
	}{
		{with(), func(n New) bool {
			return n.Status == Running && n.EndTime == nil && n.DurationMS == nil && n.Metrics == nil
		}},
		{with("status", `"failed"`), func(n New) bool { return n.Status == Failure }},
		{with("status", `"completed"`), func(n New) bool { return n.Status == Success }},
		{with("status", `"succeeded"`), func(n New) bool { return n.Status == Success }},
		{with("status", `"canceled"`), func(n New) bool { return n.Status == Cancelled }},
		{with("status", `null`, "end_time", "null", "parent_run_id", `""`), func(n New) bool { return n.Status == Running && n.ParentRunID == "" }},
		{with("event_id", `"`+strings.ToUpper(someID)+`"`), func(n New) bool { return n.EventID == someID }},
		{with("start_time", `"2026-01-02T03:04:05.1234569+01:00"`), func(n New) bool {
			return n.StartTime.Equal(time.Date(2026, 1, 2, 2, 4, 5, 123456000, time.UTC)) && n.StartTime.Location() == time.UTC
		}},
		{with("end_time", `"2026-01-02T03:04:06.5Z"`), func(n New) bool { return *n.DurationMS == 1500 }},
		{with("end_time", `"2026-01-02T03:04:06.5Z"`, "duration_ms", "7"), func(n New) bool { return *n.DurationMS == 7 }},
		{with("metrics_json", `{"b": 1.0, "a": "<"}`), func(n New) bool { return string(n.Metrics) == `{"a":"<","b":1}` }},
		{with("metrics_json", `" {\"b\": 1} "`), func(n New) bool { return string(n.Metrics) == `{"b":1}` }},
		{with("metrics_json", `{}`, "context_json", "null"), func(n New) bool { return string(n.Metrics) == `{}` && n.Context == nil }},
		{with("metrics_json", deep(63)), func(n New) bool { return len(n.Metrics) == len(deep(63)) }},
		{with("context_json", `{"trace_id": "t", "x": {"trace_id": "no"}}`), func(n New) bool { return n.TraceID() == "t" }},
		{with("context_json", `{"x": {"trace_id": "no"}}`), func(n New) bool { return n.TraceID() == "" }},
		{with("context_json", `{"trace_id": 7}`), func(n New) bool { return n.TraceID() == "" }},
		{with("context_json", `{"trace_id": "\u0000"}`), func(n New) bool { return n.TraceID() == "" }},
		{with("created_at", `"whenever"`, "updated_at", "7"), func(n New) bool { return n.CreatedAt.IsZero() && n.UpdatedAt.IsZero() }},
		{with("items_failed", `9007199254740991`), func(n New) bool { return n.ItemsFailed == 1<<53-1 }},
		{with("error_details", `"a\n\tb\u001b"`), func(n New) bool { return n.ErrorDetails == "a\n\tb\x1b" }},
	} {
		n, err := ParseNew([]byte(c.body))
		if err != nil || !c.check(n) || len(n.BodyHash) != 64 {
			t.Errorf("%s: %+v, %v", c.body, n, err)
		}
	}
}

// The hash is that of the canonical form: order and spaces do not count, all else does.
func TestBodyHash(t *testing.T) {
	hash := func(body string) string {
		n := testkit.Must(ParseNew([]byte(body)))(t)
		return n.BodyHash
	}
	one := hash(`{"event_id":"` + someID + `","run_id":"r","agent_name":"a","job_type":"gate","start_time":"2026-01-01T00:00:00Z","duration_ms":10}`)
	if one != hash(` { "duration_ms" : 10, "start_time":"2026-01-01T00:00:00Z","job_type":"g\u0061te","agent_name":"a","run_id":"r","event_id":"`+someID+`"}`) {
		t.Error("another spelling is another body")
	}
	if one == hash(`{"event_id":"`+someID+`","run_id":"r","agent_name":"a","job_type":"gate","start_time":"2026-01-01T00:00:00Z","duration_ms":11}`) {
		t.Error("another body is the same")
	}
}

func TestFormatNew(t *testing.T) {
	n := testkit.Must(ParseNew([]byte(with("metrics_json", `{}`, "end_time", `"2026-01-02T03:05:05Z"`, "error_details", `"<\n>"`, "status", `"failed"`))))(t)
	n.CreatedAt = time.Now()
	text, err := FormatNew(n.Record)
	if err != nil || bytes.Contains(text, []byte("created_at")) {
		t.Fatalf("%s, %v", text, err)
	}
	again, err := ParseNew(text)
	n.CreatedAt = time.Time{}
	if err != nil || !reflect.DeepEqual(again.Record, n.Record) {
		t.Errorf("got %+v, %v\nwant %+v", again.Record, err, n.Record)
	}
}

func TestBadPatches(t *testing.T) {
	for _, c := range []struct{ body, pointer, message, suggestion string }{
		{``, "", "is empty", ""},
		{`{}`, "", "names no field", ""},
		{`[]`, "", "must be an object", ""},
		{`{"event_id": "` + someID + `"}`, "/event_id", "stays as it was", ""},
		{`{"run_id": "x"}`, "/run_id", "stays as it was", ""},
		{`{"job_type": "gate"}`, "/job_type", "stays as it was", ""},
		{`{"created_at": "2026-01-01T00:00:00Z"}`, "/created_at", "by the service", ""},
		{`{"updated_at": null}`, "/updated_at", "by the service", ""},
		{`{"endtime": null}`, "/endtime", "no such field", "end_time"},
		{`{"runid": "x"}`, "/runid", "no such field", ""}, // no help to suggest what is refused
		{`{"status": null}`, "/status", "must not be null", ""},
		{`{"agent_name": null}`, "/agent_name", "must not be null", ""},
		{`{"agent_name": ""}`, "/agent_name", "must not be empty", ""},
		{`{"start_time": null}`, "/start_time", "must not be null", ""},
		{`{"end_time": "2026-01-01T00:00:00"}`, "/end_time", "no zone", "2026-01-01T00:00:00Z"},
		{`{"items_failed": -1}`, "/items_failed", "negative", ""},
		{`{"status": "faild"}`, "/status", "must be one of", "failure"},
	} {
		_, err := ParsePatch([]byte(c.body))
		details := Details(err)
		if !fault.Is(err, fault.InvalidField) || len(details) != 1 || details[0].Pointer != c.pointer ||
			!strings.Contains(details[0].Message, c.message) || c.pointer != "/status" && details[0].Suggestion != c.suggestion {
			t.Errorf("%s: %v, %+v", c.body, err, details)
		}
	}
}

func TestBatches(t *testing.T) {
	items, err := ParseBatch([]byte(`{"runs": [` + with() + `, ` + with("status", "7") + `, 3]}`))
	if err != nil || len(items) != 3 {
		t.Fatal(items, err)
	}
	if items[0].Err != nil || items[0].EventID != someID || items[0].New.BodyHash != testkit.Must(ParseNew([]byte(with())))(t).BodyHash {
		t.Errorf("%+v", items[0])
	}
	if d := Details(items[1].Err); len(d) != 1 || d[0].Pointer != "/runs/1/status" || items[1].EventID != someID || !fault.Is(items[1].Err, fault.InvalidField) {
		t.Errorf("%+v", items[1])
	}
	if d := Details(items[2].Err); len(d) != 1 || d[0].Pointer != "/runs/2" || items[2].EventID != "" {
		t.Errorf("%+v", items[2])
	}
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"runs": 3}`, `{"run": []}`, `{"runs": [}`, `{"runs": []`, `{"runs": []} x`, `{"runs": []}{}`,
		`{"runs": [], "runs": []}`, `{"runs": [], "more": 1}`, `{"runs": [` + strings.Repeat("1,", MaxBatch) + `1]}`, `{"runs": [` + strings.Repeat("[", 20_000)} {
		if items, err := ParseBatch([]byte(bad)); !fault.Is(err, fault.InvalidField) || len(Details(err)) != 1 || items != nil {
			t.Errorf("%.60s: %v", bad, err)
		}
	}
	if items, err := ParseBatch([]byte(` {"runs":[]} `)); err != nil || len(items) != 0 {
		t.Error(items, err)
	}
}

// What is accepted is kept the same by being formatted and parsed again.
func FuzzParseNew(f *testing.F) {
	for _, seed := range []string{with(), with("metrics_json", `"{\"a\":1}"`), with("end_time", `"2027-01-01T00:00:00+02:00"`), with("satus", "1"), deep(100), `{"a":`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		given := bytes.Clone(body)
		n, err := ParseNew(body)
		if !bytes.Equal(given, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if n.EventID == "" || n.RunID == "" || n.AgentName == "" || n.StartTime.IsZero() || n.StartTime.UnixMicro() < 0 || !json.Valid(body) {
			t.Errorf("%+v", n)
		}
		text := testkit.Must(FormatNew(n.Record))(t)
		again, err := ParseNew(text)
		if err != nil || !reflect.DeepEqual(again.Record, n.Record) {
			t.Errorf("%s: got %+v, %v, want %+v", text, again.Record, err, n.Record)
		}
	})
}

func FuzzParsePatch(f *testing.F) {
	for _, seed := range []string{`{"status":"failed"}`, `{"end_time":null}`, `{"metrics_json":"{}"}`, `{"run_id":"x"}`, `{"duration_ms":1e3}`} {
		f.Add([]byte(seed))
	}
	base := testkit.Must(ParseNew([]byte(with())))(f).Record
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := ParsePatch(body)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		now := base.StartTime.Add(time.Hour)
		r, err := Apply(base, p, now)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if again, err := Apply(r, p, now); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("the same patch again: %+v, %v, want %+v", again, err, r)
		}
		if text, err := FormatNew(r); err != nil {
			t.Error(err)
		} else if _, err := ParseNew(text); err != nil {
			t.Errorf("a patch made what cannot be created: %v", err)
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	details := Details(err)
	if !fault.Is(err, fault.InvalidField) || len(details) == 0 {
		t.Errorf("refused without a reason: %v", err)
	}
	for _, d := range details {
		if d.Message == "" || d.Pointer != "" && d.Pointer[0] != '/' {
			t.Errorf("%+v", d)
		}
	}
}

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestApply(t *testing.T) {
	record := func(pairs ...string) Record {
		r := testkit.Must(ParseNew([]byte(with(pairs...))))(t).Record
		r.CreatedAt, r.UpdatedAt = noon, noon
		return r
	}
	apply := func(r Record, body string) (Record, error) {
		return Apply(r, testkit.Must(ParsePatch([]byte(body)))(t), noon.Add(time.Second))
	}
	r, err := apply(record(), `{"status": "failed"}`)
	if err != nil || r.Status != Failure || !r.UpdatedAt.Equal(noon.Add(time.Second)) || !r.CreatedAt.Equal(noon) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := apply(r, `{"status": "running", "host": "x"}`); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	if r, err = apply(r, `{"status": "partial"}`); err != nil || r.Status != Partial {
		t.Error(r, err)
	}
	ended := record("end_time", `"2026-01-02T03:04:06Z"`)
	if r, err := apply(ended, `{"start_time": "2026-01-02T03:04:04Z"}`); err != nil || *r.DurationMS != 2000 {
		t.Error(r, err)
	}
	if r, err := apply(ended, `{"end_time": "2026-01-02T03:04:09Z", "duration_ms": 1}`); err != nil || *r.DurationMS != 1 {
		t.Error(r, err)
	}
	if _, err := apply(ended, `{"start_time": "2026-01-02T03:04:07Z"}`); !fault.Is(err, fault.InvalidField) || Details(err)[0].Pointer != "/start_time" {
		t.Error(err)
	}
	if _, err := apply(ended, `{"end_time": "2026-01-02T03:04:04Z"}`); !fault.Is(err, fault.InvalidField) || Details(err)[0].Pointer != "/end_time" {
		t.Error(err)
	}
	if r, err := apply(ended, `{"start_time": "2027-01-02T00:00:00Z", "end_time": null}`); err != nil || r.DurationMS != nil {
		t.Error(r, err)
	}
	// A clock that goes back does not take updated_at with it.
	r, err = Apply(record(), testkit.Must(ParsePatch([]byte(`{"host": "h"}`)))(t), noon.Add(-time.Hour))
	if err != nil || !r.UpdatedAt.Equal(noon) {
		t.Error(r.UpdatedAt, err)
	}
}

func leaf(run, parent string, second int) Record {
	return Record{EventID: EventID(run), RunID: run, ParentRunID: parent, JobType: Worker, StartTime: noon.Add(time.Duration(second) * time.Second)}
}

func drawn(b Branch) string {
	var kids []string
	for _, k := range b.Children {
		kids = append(kids, drawn(k))
	}
	if len(kids) == 0 {
		return b.RunID
	}
	return b.RunID + "(" + strings.Join(kids, " ") + ")"
}

func TestGrow(t *testing.T) {
	all := []Record{leaf("d", "b", 9), leaf("b", "a", 2), leaf("c", "a", 1), leaf("e", "b", 3), leaf("f", "b", 3), leaf("x", "nowhere", 0), leaf("a", "", 0)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		tree := BuildTree(leaf("a", "", 0), all)
		if got := drawn(tree); got != "a(c b(e f d))" || tree.Sums.Records != 6 {
			t.Error(got, tree.Sums)
		}
	}
	circle := []Record{leaf("a", "c", 0), leaf("b", "a", 0), leaf("c", "b", 0), leaf("s", "s", 0)}
	if got := drawn(BuildTree(circle[0], circle)); got != "a(b(c))" {
		t.Error(got)
	}
	if got := drawn(BuildTree(circle[3], circle)); got != "s" {
		t.Error(got)
	}
	if text, err := json.Marshal(BuildTree(leaf("a", "", 0), nil)); err != nil || !strings.Contains(string(text), `"children":[]`) {
		t.Errorf("%s, %v", text, err)
	}
}

// A chain that is deeper than anybody draws loses nothing.
func TestDeepChain(t *testing.T) {
	var all []Record
	for i := range 5000 {
		all = append(all, leaf(fmt.Sprint("r", i+1), fmt.Sprint("r", i), i))
	}
	tree := BuildTree(leaf("r0", "", 0), all)
	if tree.Sums.Records != 5001 {
		t.Error(tree.Sums)
	}
	levels := 1
	for b := &tree; len(b.Children) > 0; b = &b.Children[0] {
		levels++
	}
	if levels != MaxLevels {
		t.Errorf("%d levels", levels)
	}
}

func TestSums(t *testing.T) {
	duration := int64(5)
	call := func(metrics string) Record {
		return Record{JobType: LLMCall, DurationMS: &duration, Metrics: json.RawMessage(metrics)}
	}
	for metrics, want := range map[string]Sums{
		`{"input_tokens":1,"output_tokens":2,"api_cost_usd":0.5}`:         {InputTokens: 1, OutputTokens: 2, TotalTokens: 3, CostUSD: 0.5},
		`{"input_tokens":1,"output_tokens":2,"total_tokens":9}`:           {InputTokens: 1, OutputTokens: 2, TotalTokens: 9},
		`{"input_tokens":"1","output_tokens":-2,"total_tokens":null}`:     {},
		`{"x":{"input_tokens":7},"output_tokens":[1],"input_tokens":2.9}`: {InputTokens: 2, TotalTokens: 2},
		`{"input_tokens":1e300}`:                                          {InputTokens: 1 << 53, TotalTokens: 1 << 53},
		`{"api_cost_usd":1e400}`:                                          {}, `[]`: {}, `{`: {}, ``: {},
	} {
		want.Records, want.Calls, want.DurationMS = 1, 1, 5
		if got := SumsOf(call(metrics)); got != want {
			t.Errorf("%s: got %+v, want %+v", metrics, got, want)
		}
	}
	launch := call(`{"input_tokens":1}`)
	launch.JobType = Launch
	if got := SumsOf(launch); got != (Sums{Records: 1}) {
		t.Errorf("a launch counts what its calls count: %+v", got)
	}
	s := Sums{TotalTokens: math.MaxInt64 - 1, CostUSD: math.MaxFloat64}
	s.Add(Sums{TotalTokens: 5, CostUSD: math.MaxFloat64})
	if s.TotalTokens != math.MaxInt64 || math.IsInf(s.CostUSD, 0) {
		t.Errorf("%+v", s)
	}
}
