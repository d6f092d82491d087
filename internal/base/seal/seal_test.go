package seal

import (
	"errors"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// The golden key has the seed 00 01 02 … 1f. These bytes must never change.
const (
	goldenPrivate  = "PRIVATE+KEY+ramet+2228fa5e+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
	goldenVerifier = "ramet+2228fa5e+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
	goldenText     = "ramet log\n42\n"
	goldenSealed   = "ramet log\n42\n\n— ramet Iij6XspFQIN0FBr50ppSWsGL9goymPi5ptJcqBUFf/fneqrib6F/Ecvwc2TeppWhDZD9AO507WsHjws45WseloScaQM=\n"
)

func TestTheGoldenBytes(t *testing.T) {
	key := golden(t)
	if key.Verifier() != goldenVerifier {
		t.Errorf("verifier %s", key.Verifier())
	}
	sealed, err := key.Sign(goldenText)
	if err != nil || string(sealed) != goldenSealed {
		t.Errorf("sealed %q, %v", sealed, err)
	}
	text, err := Open([]byte(goldenSealed), goldenVerifier)
	if err != nil || text != goldenText {
		t.Errorf("opened %q, %v", text, err)
	}
}

func TestEveryChangedByteIsFound(t *testing.T) {
	for i := range len(goldenSealed) {
		for _, mask := range []byte{0x01, 0x20, 0x80} {
			changed := []byte(goldenSealed)
			changed[i] ^= mask
			if text, err := Open(changed, goldenVerifier); !fault.Is(err, fault.HistoryDamaged) || text != "" {
				t.Errorf("byte %d ^ %#x: %q, %v", i, mask, text, err)
			}
		}
		if _, err := Open([]byte(goldenSealed)[:i], goldenVerifier); !fault.Is(err, fault.HistoryDamaged) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

func TestAnotherKeyIsToldFromDamage(t *testing.T) {
	other := fresh(t)
	sealed, err := other.Sign(goldenText)
	testkit.OK(t, err)
	_, err = Open(sealed, goldenVerifier)
	var otherKey *OtherKeyError
	if !fault.Is(err, fault.HistoryDamaged) || !errors.As(err, &otherKey) {
		t.Fatalf("signed by another key: %v", err)
	}
	if otherKey.Want != "ramet+2228fa5e" || len(otherKey.Got) != 1 || !strings.HasPrefix(other.Verifier(), otherKey.Got[0]+"+") {
		t.Errorf("names the keys wrongly: %v", otherKey)
	}

	_, err = Open([]byte(strings.Replace(goldenSealed, "42", "43", 1)), goldenVerifier)
	if !fault.Is(err, fault.HistoryDamaged) || errors.As(err, &otherKey) {
		t.Errorf("damage looks like another key: %v", err)
	}

	// A second signature beside the right one does no harm.
	_, line, _ := strings.Cut(string(sealed), "\n\n")
	if text, err := Open([]byte(goldenSealed+line), goldenVerifier); err != nil || text != goldenText {
		t.Errorf("signed twice: %q, %v", text, err)
	}
}

func TestWhatCannotBeOpenedIsNotSigned(t *testing.T) {
	key := golden(t)
	most := MaxSealed - len(goldenSealed) + len(goldenText)
	for name, text := range map[string]string{
		"empty":       "",
		"no newline":  "text",
		"control":     "a\tb\n",
		"not UTF-8":   "a\xffb\n",
		"a byte more": strings.Repeat("x", most) + "\n",
	} {
		if _, err := key.Sign(text); !fault.Is(err, fault.InvalidText) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"one newline":      "\n",
		"blank lines":      "a\n\n\nb\n\n",
		"looks like a sig": goldenSealed,
		"no ASCII":         "äöü — 漢字\n",
		"the most":         strings.Repeat("x", most-1) + "\n",
	} {
		sealed, err := key.Sign(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := Open(sealed, key.Verifier()); err != nil || got != text {
			t.Errorf("%s: opened %.40q, %v", name, got, err)
		}
	}
	if _, err := Open(make([]byte, MaxSealed+1), goldenVerifier); !fault.Is(err, fault.HistoryDamaged) {
		t.Errorf("too long: %v", err)
	}
}

func TestAVerifierKeyThatIsNone(t *testing.T) {
	for _, key := range []string{"", "ramet", goldenPrivate, strings.Replace(goldenVerifier, "2228", "2229", 1)} {
		if _, err := Open([]byte(goldenSealed), key); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(goldenSealed))
	f.Add([]byte("x\n\n— \x1b+ AAAAAAAA\n"))
	f.Fuzz(func(t *testing.T, signed []byte) {
		text, err := Open(signed, goldenVerifier)
		if err != nil && (!fault.Is(err, fault.HistoryDamaged) || text != "") {
			t.Errorf("%q, %v", text, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("the error passes on control characters: %q", err)
		}
	})
}
