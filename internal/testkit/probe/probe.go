// Package probe lets tests change a ramet process from outside, by environment variables: a model that follows a
// script, short times, a crash at a certain event, a broken screen; and numbered steps at which the process ends or
// its disk fails (Point), including SQLite's writes (CountDatabaseSteps).
//
// A released ramet has none of it. There nothing sets the switches, so that FromEnvironment is not linked and no
// variable has an effect. It is linked into test binaries, and into a ramet that is built with the tag rametprobe:
//
//	go build -tags rametprobe ./cmd/ramet
package probe

import (
	"os"
	"strconv"
	"strings"
	"time"

	"ramet/internal/runner"
	"ramet/internal/testkit/llmtest"
)

// Tag is the build tag of a ramet with switches.
const Tag = "rametprobe"

// FromEnvironment reads the switches. What makes no sense changes nothing.
func FromEnvironment() runner.Switches {
	s := runner.Switches{
		Lease:   duration("RAMET_TEST_LEASE"),
		Pulse:   duration("RAMET_TEST_PULSE"),
		Stall:   duration("RAMET_TEST_STALL"),
		Retry:   duration("RAMET_TEST_RETRY"),
		Alone:   os.Getenv("RAMET_TEST_ALONE") != "",
		Patient: os.Getenv("RAMET_TEST_PATIENT") != "",
	}
	if os.Getenv("RAMET_TEST_SCRIPTS") != "" {
		s.Script = llmtest.OpenScript
	}
	if path := os.Getenv("RAMET_TEST_CLOCK"); path != "" {
		s.Now = func() time.Time { return time.Now().Add(offset(path)) }
	}
	if last, err := strconv.ParseInt(os.Getenv("RAMET_TEST_DIE_AFTER"), 10, 64); err == nil && last > 0 {
		s.Log = func(l runner.Log) runner.Log { return mortal{l, last} }
	}
	if os.Getenv("RAMET_TEST_PANIC") != "" {
		s.Command = func() { panic("the screen breaks, for a test") }
	}
	if path := os.Getenv("RAMET_TEST_PROFILE"); path != "" {
		s.Watch = func() func() { return profile(path) }
	}
	return s
}

// offset reads a duration from a file; 0 if there is none.
func offset(path string) time.Duration {
	text, _ := os.ReadFile(path)
	d, _ := time.ParseDuration(strings.TrimSpace(string(text)))
	return d
}

func duration(variable string) time.Duration {
	d, err := time.ParseDuration(os.Getenv(variable))
	if err != nil {
		return 0
	}
	return d
}
