// Package soak marks the tests that run for minutes or hours, or that draw their steps at
// random: `make soak` runs them, `./test` does not.
package soak

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// On reports whether this is a run of `make soak`, which sets RAMET_SOAK.
func On() bool { return os.Getenv("RAMET_SOAK") != "" }

// Only skips t unless this is a run of `make soak`. The names of such tests end in Soak.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("runs in make soak")
	}
}

// Seed returns the seed in RAMET_SEED, or a random one if it is not set, and logs it. It
// fails t if RAMET_SEED is not a number.
func Seed(t testing.TB) uint64 {
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
