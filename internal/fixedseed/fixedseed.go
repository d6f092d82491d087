// Package fixedseed makes property tests try the same cases in every run, so that they pass
// or fail alike on every machine. In make soak they try new ones.
//
// Test packages that use rapid import it for this effect.
package fixedseed

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // defines the flag

	"ramet/internal/soak"
)

func init() {
	seed := os.Getenv("RAMET_SEED")
	if seed == "" && !soak.On() {
		seed = "1"
	}
	if seed == "" {
		return
	}
	if err := flag.Set("rapid.seed", seed); err != nil {
		panic(err)
	}
}
