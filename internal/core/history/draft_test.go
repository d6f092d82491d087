package history_test

import (
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
)

func TestWhichKindsReachAndShape(t *testing.T) {
	reach := map[history.Kind]bool{history.System: true, history.User: true, history.Assistant: true, history.ToolResult: true, history.Notice: true}
	shape := map[history.Kind]bool{history.Clear: true, history.Mark: true, history.Rewind: true, history.Compact: true}
	if len(history.Kinds()) != 19 {
		t.Errorf("%d kinds", len(history.Kinds()))
	}
	for _, k := range history.Kinds() {
		if k.Reaches() != reach[k] || k.Shapes() != shape[k] {
			t.Errorf("%s: reaches %v, shapes %v", k, k.Reaches(), k.Shapes())
		}
	}
}

func TestOnlySomeKindsAreWrittenByHand(t *testing.T) {
	for _, ok := range []string{"user", "assistant", "system", "tool_result", "note"} {
		if k, err := history.ParseWritable(ok); err != nil || string(k) != ok {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for bad, hint := range map[string]string{"": "use user", "fork": "use user", "killed": "use user", "User": `"user"`, "asistant": `"assistant"`} {
		if _, err := history.ParseWritable(bad); !fault.Is(err, fault.InvalidKind) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTextsAndLabelsAreChecked(t *testing.T) {
	for _, bad := range []string{"", "a\x00b", "\xff", strings.Repeat("x", history.MaxText+1)} {
		if _, err := history.Say(history.User, bad); !fault.Is(err, fault.InvalidText) {
			t.Errorf("message %.10q: %v", bad, err)
		}
	}
	for _, bad := range []string{" x", "x ", "a\nb", "a\tb", "a  b", "\x1b[m", "\xff", "a\x00", "\u202e", strings.Repeat("x", history.MaxLabel+1), strings.Repeat("ä", 33)} {
		if _, err := history.NewMark(bad); !fault.Is(err, fault.InvalidLabel) {
			t.Errorf("label %q: %v", bad, err)
		}
	}
	for _, good := range []string{"", "x", "before the big change", "ä", strings.Repeat("x", history.MaxLabel)} {
		if d, err := history.NewMark(good); err != nil || d.Meta.Label != good || d.Kind != history.Mark {
			t.Errorf("label %q: %v", good, err)
		}
	}
	if _, err := history.NewCompact("", 1, 2); !fault.Is(err, fault.InvalidText) {
		t.Errorf("an empty summary: %v", err)
	}
}
