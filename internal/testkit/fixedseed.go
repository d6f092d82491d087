//go:build !rametprobe

package testkit

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // defines the flag
)

func init() {
	seed := os.Getenv("RAMET_SEED")
	if seed == "" && !SoakOn() {
		seed = "1"
	}
	checks := "30"
	if SoakOn() {
		checks = "1000"
	}
	for name, value := range map[string]string{"rapid.seed": seed, "rapid.checks": checks} {
		if value == "" {
			continue
		}
		// Not flag.Set: tests ask whether the command line has set it.
		if err := flag.Lookup(name).Value.Set(value); err != nil {
			panic(err)
		}
	}
}
