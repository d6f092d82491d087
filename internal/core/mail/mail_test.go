package mail

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
)

func TestBodiesHaveLimits(t *testing.T) {
	for _, good := range []string{"x", "zwei\nZeilen\t\u2713", strings.Repeat("x", MaxBody)} {
		if err := CheckBody(good); err != nil {
			t.Errorf("%.20q: %v", good, err)
		}
	}
	for bad, says := range map[string]string{
		"":                             "the mail is empty",
		strings.Repeat("x", MaxBody+1): "the mail has 65537 bytes, over the limit of 65536",
		"ab\xff":                       "the mail is not valid UTF-8 at byte 2",
		"a\x00b":                       "the mail contains a NUL at byte 1",
	} {
		if err := CheckBody(bad); !fault.Is(err, fault.InvalidText) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	// Bytes count, not letters: the limit is one of storage.
	if err := CheckBody(strings.Repeat("ä", MaxBody/2+1)); !fault.Is(err, fault.InvalidText) {
		t.Error(err)
	}
}

func TestALetterIsUnreadUntilItWasRead(t *testing.T) {
	if l := (Letter{}); !l.Unread() {
		t.Error("a new letter is read")
	}
	if l := (Letter{ReadAt: time.Unix(1, 0)}); l.Unread() {
		t.Error("a read letter is unread")
	}
}
