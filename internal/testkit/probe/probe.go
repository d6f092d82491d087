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

	"ramet/internal/model/llm"
	"ramet/internal/runner"
	"ramet/internal/testkit/llmtest"
)

// Switches holds the changes that a test makes. The zero value changes nothing.
type Switches struct {
	// RAMET_TEST_SCRIPTS: a file can be a model
	Script  func(path string) (llm.Provider, error)
	Lease   time.Duration // RAMET_TEST_LEASE: how long leases last
	Pulse   time.Duration // RAMET_TEST_PULSE: how often leases are renewed and the dead are looked for
	Stall   time.Duration // RAMET_TEST_STALL: servers of models that say nothing are given up soon
	Retry   time.Duration // RAMET_TEST_RETRY: short waits between attempts
	Alone   bool          // RAMET_TEST_ALONE: nobody is asked for models or about keys
	Patient bool          // RAMET_TEST_PATIENT: nobody is told for which server is waited

	// Now returns the time by which a process judges its own leases. RAMET_TEST_CLOCK=FILE: the
	// file's content, a duration, is added to the real time; so a test moves the clock.
	Now func() time.Time
	// Log stands around the log of a run. RAMET_TEST_DIE_AFTER=N: the process is no more
	// after event N.
	Log func(runner.Log) runner.Log
	// Command is called before each command of the terminal UI. RAMET_TEST_PANIC: it
	// breaks.
	Command func()
	// Watch is called at the begin of a process, and what it gives at its end; nil: nobody looks.
	// RAMET_TEST_PROFILE=FILE: where the processor's time goes, for go tool pprof.
	Watch func() (stop func())
}

// Tag is the build tag of a ramet with switches.
const Tag = "rametprobe"

// FromEnvironment reads the switches. What makes no sense changes nothing.
func FromEnvironment() Switches {
	s := Switches{
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
