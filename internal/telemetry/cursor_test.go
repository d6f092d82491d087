package telemetry

import (
	"math"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestCursors(t *testing.T) {
	for _, n := range []int64{1, 2, 1 << 40, math.MaxInt64} {
		if got, err := ParseCursor(FormatCursor(n)); got != n || err != nil {
			t.Error(n, got, err)
		}
	}
	good := FormatCursor(7)
	for _, bad := range []string{"", "7", "x", good[1:], good + "A", good + "=", strings.ToUpper(good), FormatCursor(0), FormatCursor(-1), strings.Repeat("A", 1<<20), "\x00", "../.."} {
		if _, err := ParseCursor(bad); !fault.Is(err, fault.InvalidField) || Details(err)[0].Pointer != "/query/cursor" || len(err.Error()) > 200 {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
	for i := range good { // every character counts
		if other := good[:i] + string(good[i]^1) + good[i+1:]; other != good {
			if _, err := ParseCursor(other); err == nil {
				t.Errorf("%s is taken for %s", other, good)
			}
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(FormatCursor(1))
	f.Add("")
	f.Add("AQAAAAAAAAAHAAAAAA")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseCursor(s)
		if err != nil {
			checkRefusal(t, err)
		} else if FormatCursor(n) != s || n < 1 {
			t.Errorf("%q is %d, whose cursor is %q", s, n, FormatCursor(n))
		}
	})
}

func TestParseFilter(t *testing.T) {
	cursor := FormatCursor(9)
	query := testkit.Must(url.ParseQuery("agent_name=a&run_id=r&parent_run_id=p&trace_id=t&status=failed&job_type=gate&created_before=2026-01-01T00:00:00Z" +
		"&created_after=2026-01-01T00:00:00%2B02:00&start_time_from=2026-01-01T00:00:00+02:00&start_time_to=&limit=1000&cursor=" + cursor))(t)
	got, err := ParseFilter(query)
	early := time.Date(2025, 12, 31, 22, 0, 0, 0, time.UTC)
	want := Filter{AgentName: "a", RunID: "r", ParentRunID: "p", TraceID: "t", Status: Failure, JobType: Gate, CreatedBefore: early.Add(2 * time.Hour),
		CreatedAfter: early, StartFrom: early, Limit: 1000, Cursor: cursor}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct{ query, pointer, suggestion string }{
		{"limit=0", "/query/limit", ""}, {"limit=1001", "/query/limit", ""}, {"limit=x", "/query/limit", ""}, {"limit=-1", "/query/limit", ""},
		{"cursor=x", "/query/cursor", ""}, {"status=sucess", "/query/status", "success"}, {"job_type=gat", "/query/job_type", "gate"},
		{"created_after=2026-01-01T00:00:00", "/query/created_after", "2026-01-01T00:00:00Z"}, {"start_time_to=yesterday", "/query/start_time_to", ""},
		{"agentname=x", "/query/agentname", "agent_name"}, {"status=failed&status=success", "/query/status", ""},
		{"agent_name=%00", "/query/agent_name", ""}, {"trace_id=%ff", "/query/trace_id", ""}, {"run_id=" + strings.Repeat("x", 256), "/query/run_id", ""},
	} {
		query, err := url.ParseQuery(c.query)
		testkit.OK(t, err)
		_, err = ParseFilter(query)
		if d := Details(err); !fault.Is(err, fault.InvalidField) || len(d) != 1 || d[0].Pointer != c.pointer || d[0].Suggestion != c.suggestion {
			t.Errorf("%s: %v %+v", c.query, err, d)
		}
	}
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestEventID(t *testing.T) {
	seen := map[string]bool{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"run", "unit", "1"}, {"run", "unit", "2"}} {
		id := EventID(parts...)
		if !uuidForm.MatchString(id) || seen[id] || EventID(parts...) != id {
			t.Errorf("%q: %s", parts, id)
		}
		if got, err := ParseEventID(strings.ToUpper(id)); got != id || err != nil {
			t.Error(got, err)
		}
		seen[id] = true
	}
	// It never changes: what was sent before an update is known after it.
	if got := EventID("run", "unit", "1"); got != golden {
		t.Errorf("got %s, want %s", got, golden)
	}
	for _, bad := range []string{"", "x", golden + "0", strings.ReplaceAll(golden, "-", "_"), "{" + golden + "}", "..", golden[:35] + "\x00"} {
		if _, err := ParseEventID(bad); !fault.Is(err, fault.InvalidID) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

const golden = "ae51fc72-2177-5a56-bf72-93f5fa80831f"

func TestRunID(t *testing.T) {
	if got := RunID("run-1-l2", LLMCall, "sec_3", 1); got != "run-1-l2-llm_call-sec_3-a1" {
		t.Error(got)
	}
	seen := map[string]bool{}
	for _, unit := range []string{"a/b", "a\\b", "a b", "a..b", "a\x00b", "ü", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
		id := RunID("-launch", Worker, unit, 3)
		if checkRunID(id) != nil || seen[id] {
			t.Errorf("%q: %s %v", unit, id, checkRunID(id))
		}
		seen[id] = true
	}
}
