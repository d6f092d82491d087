package run_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// The vectors of the specification; their ids are short on purpose.
func TestTheFormulaGivesTheHashesOfTheSpecification(t *testing.T) {
	first := run.Draft{ID: "evt-1", TS: "2026-01-15T14:22:10Z", Type: run.RunCreated, Payload: []byte(`{"run_id":"r1"}`)}.Link("")
	if want := "9dfb1406f3ec56c177fc8c1c42dc94168135eb54ae4bdf6e177f348b3bbe9534"; first.Hash != want {
		t.Errorf("first: %s, want %s", first.Hash, want)
	}
	second := run.Draft{ID: "evt-2", TS: "2026-01-15T14:22:11Z", Type: run.RunStateChanged,
		Payload: []byte(`{"new_state":"CLONED_INPUTS","old_state":"CREATED"}`)}.Link(first.Hash)
	if want := "5b768359d0ebffcbd2a61b95fcfc57e5680ff115be7668db82836ff18b32cebd"; second.Hash != want {
		t.Errorf("second: %s, want %s", second.Hash, want)
	}
}

func golden() run.Event {
	d := runtest.Draft(1, run.GateRunStarted, `{"gate":"ü"}`)
	d.ParentSpan = "00f067aa0ba902b7"
	return d.Link(runtest.Sum)
}

const goldenLine = `{"event_hash":"de40a14dd04ab16e215ce24e0da0d409a89f73138cfbf99ae59617251fe3332b","event_id":"00000001-0000-7000-8000-000000000000",` +
	`"parent_span_id":"00f067aa0ba902b7","payload":{"gate":"ü"},"prev_hash":"9dfb1406f3ec56c177fc8c1c42dc94168135eb54ae4bdf6e177f348b3bbe9534",` +
	`"run_id":"20260115T142210Z-0a1b2c3d","span_id":"0000000000000001","trace_id":"0af7651916cd43dd8448eb211c80319c",` +
	`"ts":"2026-01-15T14:22:11.000000Z","type":"GATE_RUN_STARTED"}`

func TestTheLineHasItsGoldenForm(t *testing.T) {
	if got := string(golden().Line()); got != goldenLine {
		t.Errorf("line\n%s\nwant\n%s", got, goldenLine)
	}
	e, err := run.ParseLine([]byte(goldenLine))
	if err != nil || e.Sum() != e.Hash {
		t.Errorf("%v, sum %s, hash %s", err, e.Sum(), e.Hash)
	}
}

func TestEveryHashedFieldMovesTheHash(t *testing.T) {
	e := golden()
	for name, change := range map[string]func(*run.Event){
		"event_id":  func(e *run.Event) { e.ID = strings.Replace(e.ID, "1", "2", 1) },
		"ts":        func(e *run.Event) { e.TS = strings.Replace(e.TS, "2026", "2027", 1) },
		"type":      func(e *run.Event) { e.Type = run.GateRunFinished },
		"payload":   func(e *run.Event) { e.Payload = []byte(`{"gate":"u"}`) },
		"prev_hash": func(e *run.Event) { e.PrevHash = "" },
	} {
		other := e
		if change(&other); other.Sum() == e.Hash {
			t.Errorf("%s does not count", name)
		}
	}
}

func TestALineThatIsParsedIsTheLineThatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(run.Types()).Draw(t, "type")
		d := runtest.Draft(rapid.IntRange(0, 1<<30).Draw(t, "n"), kind, runtest.Examples()[kind])
		d.RunID = rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`).Draw(t, "run")
		if rapid.Bool().Draw(t, "child") {
			d.ParentSpan = rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "parent")
		}
		testkit.OK(t, d.Check())
		e := d.Link(rapid.SampledFrom([]string{"", runtest.Sum}).Draw(t, "prev"))
		line := e.Line()
		again := testkit.Must(run.ParseLine(line))(t)
		if !bytes.Equal(again.Line(), line) || again.Sum() != e.Hash {
			t.Errorf("became\n%s\nfrom\n%s", again.Line(), line)
		}
		if !json.Valid(line) {
			t.Errorf("no JSON: %s", line)
		}
	})
}

func TestParseLineRefusesEveryOtherForm(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(line string) string { return strings.Replace(line, old, new, 1) }
	}
	longest := strings.Repeat("r", 64)
	for name, change := range map[string]func(string) string{
		"empty":                          func(string) string { return "" },
		"null":                           func(string) string { return "null" },
		"array":                          func(line string) string { return "[" + line + "]" },
		"space in front":                 func(line string) string { return " " + line },
		"space behind":                   func(line string) string { return line + " " },
		"space after a colon":            replace(`"ts":`, `"ts": `),
		"space after a comma":            replace(`,"ts"`, `, "ts"`),
		"tab inside the payload":         replace(`{"gate"`, "{\t\"gate\""),
		"carriage return":                func(line string) string { return line + "\r" },
		"line feed":                      func(line string) string { return line + "\n" },
		"byte order mark":                func(line string) string { return "\ufeff" + line },
		"NUL":                            func(line string) string { return line + "\x00" },
		"two lines":                      func(line string) string { return line + line },
		"cut":                            func(line string) string { return line[:len(line)-1] },
		"cut in the payload":             func(line string) string { return line[:strings.Index(line, `"ü`)] },
		"keys in another order":          func(line string) string { return `{"type":"GATE_RUN_STARTED",` + line[1:len(line)-26] + `}` },
		"a member too many":              replace(`{"event_hash"`, `{"a":1,"event_hash"`),
		"a member too many at the end":   func(line string) string { return line[:len(line)-1] + `,"z":1}` },
		"a member twice":                 replace(`"ts":"2026-01-15T14:22:11.000000Z"`, `"ts":"2026-01-15T14:22:11.000000Z","ts":"2026-01-15T14:22:11.000000Z"`),
		"no hash":                        func(line string) string { return "{" + line[strings.Index(line, `"event_id"`):] },
		"no prev_hash":                   replace(`"prev_hash":"`+runtest.Sum+`",`, ``),
		"no payload":                     replace(`"payload":{"gate":"ü"},`, ``),
		"no trace":                       replace(`"trace_id":"0af7651916cd43dd8448eb211c80319c",`, ``),
		"no span":                        replace(`"span_id":"0000000000000001",`, ``),
		"null for a string":              replace(`"0000000000000001"`, `null`),
		"empty parent":                   replace(`"00f067aa0ba902b7"`, `""`),
		"upper-case hash":                replace(`"9dfb`, `"9DFB`),
		"short hash":                     replace(`"9dfb`, `"dfb`),
		"upper-case id":                  replace(`"00000001-0000`, `"0000000A-0000`),
		"id in braces":                   replace(`"00000001-0000-7000-8000-000000000000"`, `"{00000001-0000-7000-8000-000000000000}"`),
		"id without dashes":              replace(`"00000001-0000-7000-8000-000000000000"`, `"000000010000700080000000000000000000"`),
		"upper-case trace":               replace(`0af7651916cd43`, `0AF7651916CD43`),
		"short trace":                    replace(`0af7651916cd43`, `af7651916cd43`),
		"long span":                      replace(`"0000000000000001"`, `"00000000000000001"`),
		"escape in a field":              replace(`"20260115T`, `"\u00320260115T`),
		"escape in a key":                replace(`"ts"`, `"\u0074s"`),
		"needless escape in the payload": replace(`ü`, `\u00fc`),
		"broken UTF-8 in the payload":    replace(`ü`, "\xfc"),
		"payload is a list":              replace(`{"gate":"ü"}`, `[]`),
		"payload is text":                replace(`{"gate":"ü"}`, `"{}"`),
		"payload with a key twice":       replace(`{"gate":"ü"}`, `{"gate":1,"gate":1}`),
		"payload with keys out of order": replace(`{"gate":"ü"}`, `{"b":1,"a":1}`),
		"payload with a long number":     replace(`"ü"`, `1.0`),
		"run id of 65 characters":        replace(runtest.RunID, longest+"r"),
		"run id with a slash":            replace(runtest.RunID, "a/b"),
		"run id with a point":            replace(runtest.RunID, "a.b"),
		"empty run id":                   replace(runtest.RunID, ""),
		"small type":                     replace(`"GATE_RUN_STARTED"`, `"gate_run_started"`),
		"type with a digit":              replace(`"GATE_RUN_STARTED"`, `"GATE1"`),
		"empty type":                     replace(`"GATE_RUN_STARTED"`, `""`),
	} {
		line := change(goldenLine)
		if line == goldenLine {
			t.Errorf("%s: nothing was changed", name)
		}
		if e, err := run.ParseLine([]byte(line)); err == nil {
			t.Errorf("%s: was read as %+v", name, e)
		}
	}
	if _, err := run.ParseLine([]byte(strings.Replace(goldenLine, runtest.RunID, longest, 1))); err != nil {
		t.Errorf("a run id of 64 characters: %v", err)
	}
}

func TestATimeHasOneForm(t *testing.T) {
	for _, good := range []string{"2026-01-15T14:22:10Z", "2026-01-15T14:22:10.1Z", "2024-02-29T23:59:59.123456789Z", "0000-01-01T00:00:00Z"} {
		if _, err := run.ParseLine([]byte(strings.Replace(goldenLine, "2026-01-15T14:22:11.000000Z", good, 1))); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "Z", "2026-01-15T14:22:10", "2026-01-15T14:22:10+00:00", "2026-01-15T14:22:10-00:00Z", "2026-01-15t14:22:10Z",
		"2026-01-15T14:22:10z", "2026-01-15 14:22:10Z", "2026-01-15T14:22:10.Z", "2026-01-15T14:22:10,5Z", "2026-01-15T4:22:10.1Z",
		"2026-01-15T14:22:10.1234567890Z", "2026-02-29T14:22:10Z", "2026-13-01T14:22:10Z", "2026-01-15T24:00:00Z", "2026-01-15T14:22:60Z",
		"2026-01-15T14:22:10.1 Z", "2026-01-15T14:22:10.+5Z", "+026-01-15T14:22:10Z", "2026-01-15T14:22:10ZZ", " 2026-01-15T14:22:10Z"} {
		line := strings.Replace(goldenLine, "2026-01-15T14:22:11.000000Z", bad, 1)
		if _, err := run.ParseLine([]byte(line)); err == nil {
			t.Errorf("a line with the time %q is read", bad)
		}
	}
}

func TestADraftThatCouldNotBeReadAgainIsRefused(t *testing.T) {
	good := runtest.Draft(1, run.GateRunStarted, `{"gate":"g"}`)
	testkit.OK(t, good.Check())
	for name, change := range map[string]func(*run.Draft){
		"id":                  func(d *run.Draft) { d.ID = "1" },
		"run":                 func(d *run.Draft) { d.RunID = "a/b" },
		"time":                func(d *run.Draft) { d.TS = "now" },
		"type":                func(d *run.Draft) { d.Type = "gate" },
		"trace":               func(d *run.Draft) { d.TraceID = "" },
		"no span":             func(d *run.Draft) { d.SpanID = "" },
		"span":                func(d *run.Draft) { d.SpanID = "xyz" },
		"parent":              func(d *run.Draft) { d.ParentSpan = "xyz" },
		"no payload":          func(d *run.Draft) { d.Payload = nil },
		"payload with spaces": func(d *run.Draft) { d.Payload = []byte(`{"gate": "g"}`) },
		"payload and more":    func(d *run.Draft) { d.Payload = []byte(`{"gate":"g"}{}`) },
		"payload not of type": func(d *run.Draft) { d.Payload = []byte(`{}`) },
		"list as payload":     func(d *run.Draft) { d.Type, d.Payload = "NEW", []byte(`[]`) },
		"too long": func(d *run.Draft) {
			d.Payload = []byte(`{"gate":"` + strings.Repeat("g", run.MaxLine) + `"}`)
		},
	} {
		d := good
		change(&d)
		err := d.Check()
		if code := fault.CodeOf(err); err == nil || code != fault.InvalidEvent && code != fault.InvalidID {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDraftsThatPassTheCheckAreReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"", "a", "A_", "0", "00f067aa0ba902b7", "0af7651916cd43dd8448eb211c80319c",
			"2026-01-15T14:22:10Z", "00000001-0000-7000-8000-000000000000", "\"", "\n"})
		d := run.Draft{ID: word.Draw(t, "id"), RunID: word.Draw(t, "run"), TS: word.Draw(t, "ts"), Type: run.Type(word.Draw(t, "type")),
			TraceID: word.Draw(t, "trace"), SpanID: word.Draw(t, "span"), ParentSpan: word.Draw(t, "parent"),
			Payload: []byte(rapid.SampledFrom([]string{"{}", "[]", "{", "", `{"a":1.5}`, `{"a":1.50}`}).Draw(t, "payload"))}
		if rapid.Bool().Draw(t, "good") {
			d = runtest.Draft(1, "NEW", string(d.Payload))
		}
		_, err := run.ParseLine(d.Link("").Line())
		if (d.Check() == nil) != (err == nil) {
			t.Fatalf("check: %v, parse: %v", d.Check(), err)
		}
	})
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(goldenLine))
	for kind, payload := range runtest.Examples() {
		f.Add(runtest.Draft(1, kind, payload).Link("").Line())
	}
	second := string(runtest.Draft(2, run.RunCreated, runtest.Examples()[run.RunCreated]).Link(strings.Repeat("a", 64)).Line())
	f.Add([]byte(second))
	for old, new := range map[string]string{`"event_id":"`: `"event_id":"A`, `"event_hash":"`: `"event_hash":"g`, `"parent_span_id":"`: `"parent_span_id":"x`,
		`"span_id":"`: `"span_id":"`, `"type":"`: `"type":"a`, `"ts":"`: `"ts":"1`, `"run_id":"`: `"run_id":" `, `Z",`: `+00:00",`, `"trace_id"`: `"parent_span_id":"","trace_id"`} {
		f.Add([]byte(strings.Replace(second, old, new, 1)))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := run.ParseLine(line)
		if err == nil {
			if err := run.EventShape().CheckValid(line); err != nil {
				t.Errorf("%q was read: %v", line, err)
			}
		}
		if err != nil {
			return
		}
		if !bytes.Equal(e.Line(), line) {
			t.Errorf("%q was read as %q", line, e.Line())
		}
		if !json.Valid(line) {
			t.Errorf("%q is not JSON", line)
		}
	})
}
