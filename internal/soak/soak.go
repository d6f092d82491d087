// Package soak separates the long tests from those of every change.
//
// `make soak` sets RAMET_SOAK. Tests that run only then have a name that ends in Soak.
package soak

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// On reports whether the long tests run.
func On() bool { return os.Getenv("RAMET_SOAK") != "" }

// Only skips the test unless the long tests run.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("a long test: make soak runs it")
	}
}

// Seed returns the seed of a test's random choices: RAMET_SEED, or a new one. It logs the
// seed, so that a failure can be repeated.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("RAMET_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("RAMET_SEED: %v", err)
		}
	}
	t.Logf("RAMET_SEED=%d", seed)
	return seed
}
