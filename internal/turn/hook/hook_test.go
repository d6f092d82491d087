package hook

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"ramet/internal/core/config"
)

func TestMatchersSeeTheOtherProgramsNames(t *testing.T) {
	for _, c := range []struct {
		matcher, tool, args string
		theirs, ours        bool
	}{
		{"", "bash", `{}`, true, true},
		{"*", "read", `{}`, true, true},
		{"Bash", "bash", `{}`, true, true},
		{"bash", "bash", `{}`, false, true},
		{"Edit|Write", "write", `{}`, true, true},
		{"Edit|Write", "read", `{}`, false, false},
		{"MultiEdit", "edit", `{"edits":[]}`, true, true},
		{"mcp__memory__.*", "memory__search", `{}`, true, true},
		{"mcp__memory__.*", "files__read", `{}`, false, false},
		{"Task", "fork", `{}`, true, true},
		{"Agent", "fork", `{}`, true, true},
		{"Notebook.*", "edit", `{}`, false, false},
		{"(", "edit", `{}`, true, true}, // it may be a guard
	} {
		o := Occasion{Event: PreToolUse, Tool: c.tool, Args: json.RawMessage(c.args)}
		if got := (Hook{Event: PreToolUse, Matcher: c.matcher, Theirs: true}).Fits(o); got != c.theirs {
			t.Errorf("theirs %q, %s: %v", c.matcher, c.tool, got)
		}
		if got := (Hook{Event: PreToolUse, Matcher: c.matcher}).Fits(o); got != c.ours {
			t.Errorf("ours %q, %s: %v", c.matcher, c.tool, got)
		}
		if (Hook{Event: Stop, Matcher: c.matcher}).Fits(o) {
			t.Errorf("%q fits another event", c.matcher)
		}
	}
}

func TestArgumentsThereAndBack(t *testing.T) {
	for tool, args := range map[string]string{
		"write": `{"content":"x","path":"a/b.go"}`,
		"edit":  `{"new_string":"y","old_string":"x","path":"b"}`,
		"grep":  `{"include":"*.go","mode":"files","pattern":"x"}`,
		"bash":  `{"background":true,"command":"ls","timeout":5}`,
		"fork":  `{"agent":"reviewer","prompt":"look"}`,
	} {
		theirs := toTheirs(tool, "/w", json.RawMessage(args))
		if back := toOurs(tool, "/w", theirs); string(back) != args {
			t.Errorf("%s: %s -> %s -> %s", tool, args, theirs, back)
		}
	}
	in := Hook{Theirs: true}.Input(Occasion{Event: PreToolUse, Tool: "write", Args: json.RawMessage(`{"path":"a","content":""}`)}, Place{Dir: "/w", Session: "s"})
	for _, want := range []string{`"tool_name":"Write"`, `"file_path":"/w/a"`, `"hook_event_name":"PreToolUse"`, `"session_id":"s"`, `"cwd":"/w"`} {
		if !strings.Contains(string(in), want) {
			t.Errorf("no %s in %s", want, in)
		}
	}
}

// verdict is what one hook's end leads to.
func verdict(e Event, r Ran) Verdict {
	return Judge(Occasion{Event: e, Tool: map[bool]string{true: "bash"}[e == PreToolUse || e == PostToolUse]}, Place{Dir: "/w"}, []Ran{r})
}

func TestExitCodes(t *testing.T) {
	for _, event := range config.HookEvents {
		e := Event(event)
		if v := verdict(e, Ran{}); v.Denied || v.Halts || len(v.Tell) > 0 || len(v.Entries) != 1 {
			t.Errorf("%s, exit 0: %+v", e, v)
		}
		v := verdict(e, Ran{Exit: 2, Err: []byte("because\n")})
		switch {
		case e.objects() && (!v.Denied || v.Why != "because"),
			e == PostToolUse && (v.Denied || v.Context != "because"),
			!e.objects() && e != PostToolUse && (v.Denied || len(v.Tell) != 1):
			t.Errorf("%s, exit 2: %+v", e, v)
		}
		for name, r := range map[string]Ran{"exit 1": {Exit: 1}, "time": {TimedOut: true, Exit: 137}, "not started": {Failed: errors.New("no program")}} {
			if v := verdict(e, r); v.Denied || len(v.Tell) != 1 {
				t.Errorf("%s, %s: %+v", e, name, v)
			}
			r.Hook.Required = true
			if v := verdict(e, r); v.Denied != e.objects() {
				t.Errorf("%s, %s, required: %+v", e, name, v)
			}
		}
	}
}

func TestAnswersInJSON(t *testing.T) {
	say := func(e Event, s string) Verdict { return verdict(e, Ran{Out: []byte(s)}) }
	if v := say(PreToolUse, `{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}`); !v.Denied || v.Why != "no" {
		t.Errorf("deny: %+v", v)
	}
	if v := say(PreToolUse, `{"decision":"block","reason":"old"}`); !v.Denied || v.Why != "old" {
		t.Errorf("block: %+v", v)
	}
	if v := say(PreToolUse, `{"hookSpecificOutput":{"permissionDecision":"allow"}}`); v.Denied || v.Asks || v.Halts {
		t.Errorf("allow permits nothing: %+v", v)
	}
	if v := say(PreToolUse, `{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"look"}}`); !v.Asks || v.Why != "look" {
		t.Errorf("ask: %+v", v)
	}
	if v := say(PreToolUse, `{"hookSpecificOutput":{"updatedInput":{"command":"ls"}}}`); string(v.Args) != `{"command":"ls"}` {
		t.Errorf("updated: %s", v.Args)
	}
	if v := say(Stop, `{"continue":false,"stopReason":"enough"}`); !v.Halts || v.Why != "enough" || v.Denied {
		t.Errorf("continue: %+v", v)
	}
	if v := say(SessionStart, `{"hookSpecificOutput":{"additionalContext":"know this"},"systemMessage":"told"}`); v.Context != "know this" || len(v.Tell) != 1 {
		t.Errorf("context: %+v", v)
	}
	if v := say(UserPromptSubmit, "plain words"); v.Context != "plain words" {
		t.Errorf("plain: %+v", v)
	}
	if v := say(PreToolUse, "plain words"); v.Context != "" {
		t.Errorf("a tool's: %+v", v)
	}
	// What begins as an answer and cannot be read may have been a no: it is told, and one that is required objects.
	for _, garbled := range []string{`{not json`, `{"decision":"block"`, `{"decision":"block"}{}`, `{"decision":5}`} {
		if v := say(PreToolUse, garbled); v.Denied || v.Context != "" || len(v.Tell) != 1 || !strings.Contains(v.Tell[0], "cannot be read") {
			t.Errorf("%s: %+v", garbled, v)
		}
		for _, e := range []Event{PreToolUse, UserPromptSubmit} {
			if v := verdict(e, Ran{Out: []byte(garbled), Hook: Hook{Required: true}}); !v.Denied {
				t.Errorf("%s of %s, required: %+v", garbled, e, v)
			}
		}
	}
	if v := say(UserPromptSubmit, `{a brace} and words`); v.Context != "{a brace} and words" || len(v.Tell) != 0 {
		t.Errorf("words for the model: %+v", v)
	}
}

func TestANoOutweighs(t *testing.T) {
	v := Judge(Occasion{Event: PreToolUse, Tool: "bash"}, Place{}, []Ran{
		{Out: []byte(`{"hookSpecificOutput":{"permissionDecision":"allow"}}`)},
		{Exit: 2, Err: []byte("no"), Hook: Hook{From: "there"}},
		{Out: []byte(`{"hookSpecificOutput":{"permissionDecision":"ask"}}`)},
	})
	if !v.Denied || v.From != "there" || len(v.Entries) != 3 {
		t.Errorf("%+v", v)
	}
}

func TestSettings(t *testing.T) {
	hooks, notes, err := ParseSettings("f", []byte(`{"model":"x","hooks":{
		"Stop":[{"hooks":[{"type":"command","command":"b","timeout":1.5}]}],
		"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"a"},{"type":"prompt","prompt":"x"},{"type":"command"}]}],
		"SessionEnd":[{"hooks":[]}]}}`))
	if err != nil || len(hooks) != 2 || len(notes) != 3 || hooks[0].Command != "a" || hooks[0].Matcher != "Bash" || hooks[1].Timeout != 1500*time.Millisecond {
		t.Errorf("%+v %q %v", hooks, notes, err)
	}
	if hooks[0].Patience() != Patience || hooks[1].Patience() != 1500*time.Millisecond {
		t.Error("patience")
	}
	if hooks, _, err := ParseSettings("f", []byte(`{"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"b"}]}]}}`)); err != nil || len(hooks) != 0 {
		t.Errorf("off: %v %v", hooks, err)
	}
	for _, bad := range []string{``, `[]`, `{"hooks":[]}`, `{"hooks":{"Stop":{}}}`, `{"hooks":{"Stop":[{"hooks":"x"}]}}`} {
		if _, _, err := ParseSettings("f", []byte(bad)); err == nil || !strings.Contains(err.Error(), "f: hooks") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if hooks, notes, err := ParseSettings("f", []byte(`{"permissions":{}}`)); err != nil || hooks != nil || notes != nil {
		t.Errorf("none: %v %v %v", hooks, notes, err)
	}
}
