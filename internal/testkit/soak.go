package testkit

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// SoakOn reports whether this is a full run of `make soak`.
func SoakOn() bool { return mode() != "" && mode() != "short" }

// SoakOnly skips t unless this is a run of `make soak`, full or short.
func SoakOnly(t testing.TB) {
	t.Helper()
	if mode() == "" {
		t.Skip("runs in make soak")
	}
}

func mode() string { return os.Getenv("RAMET_SOAK") }

// SoakSeed returns the seed in RAMET_SEED, or a random one if it is not set, and logs it. It
// fails t if RAMET_SEED is not a number.
func SoakSeed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("RAMET_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("RAMET_SEED=%q is not a number", text)
		}
	}
	t.Logf("to repeat this: RAMET_SEED=%d", seed)
	return seed
}
