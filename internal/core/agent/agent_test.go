package agent

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
)

func TestNamesFollowTheRule(t *testing.T) {
	for _, good := range []string{"a", "z9", "review.the_api-2", "a" + strings.Repeat("b", 62), "running", "a.", "a-"} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "9a", "A", "aB", "-a", "_a", ".a", "a b", " a", "a ", "a\n", "\na", "a\x00", "ä", "aä",
		"a/b", "a\xff", "a" + strings.Repeat("b", 63)} {
		err := CheckName(bad)
		if !fault.Is(err, fault.InvalidName) || !strings.Contains(err.Error(), "begins with a-z") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, word := range []string{"you", "parent", "kernel", "0"} {
		if err := CheckName(word); !fault.Is(err, fault.InvalidName) || !strings.Contains(err.Error(), "the word has another meaning") {
			t.Errorf("%q: %v", word, err)
		}
	}
}

func TestTheDeadAreRefusedWithTimeAndReason(t *testing.T) {
	if err := NeedLiving(Agent{Status: Running}); err != nil {
		t.Error(err)
	}
	err := NeedLiving(Agent{ID: "abcdefghijklmnopqrstuv", Parent: "p", Status: Dead, EndReason: "done",
		EndedAt: time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("x", 3600))})
	if !fault.Is(err, fault.DeadAgent) || !strings.Contains(err.Error(), "agent abcdefgh is dead since 2026-05-01T11:00:00Z (done)") {
		t.Error(err)
	}
}

func TestLabels(t *testing.T) {
	for want, a := range map[string]Agent{
		"0":        {ID: "abcdefghijklmnopqrstuv"},
		"boss":     {ID: "abcdefghijklmnopqrstuv", Name: "boss"},
		"abcdefgh": {ID: "abcdefghijklmnopqrstuv", Parent: "p"},
		"kid":      {ID: "abcdefghijklmnopqrstuv", Parent: "p", Name: "kid"},
	} {
		if a.Label() != want {
			t.Errorf("%q, want %q", a.Label(), want)
		}
	}
}
