package runner

import (
	"time"

	"ramet/internal/model/llm"
)

// Switches holds the changes that a test makes to a process; the zero value changes nothing. Package testkit/probe reads
// them from the environment. The type is here because a released ramet, which links no test support, has it too.
type Switches struct {
	// RAMET_TEST_SCRIPTS: a file can be a model
	Script  func(path string) (llm.Provider, error)
	Lease   time.Duration // RAMET_TEST_LEASE: how long leases last
	Pulse   time.Duration // RAMET_TEST_PULSE: how often leases are renewed and the dead are looked for
	Stall   time.Duration // RAMET_TEST_STALL: servers of models that say nothing are given up soon
	Retry   time.Duration // RAMET_TEST_RETRY: short waits between attempts
	Alone   bool          // RAMET_TEST_ALONE: no server is asked for models, and no person about keys
	Patient bool          // RAMET_TEST_PATIENT: no notice names the server that is waited for

	// Now returns the time by which a process judges its own leases. RAMET_TEST_CLOCK=FILE: the
	// file's content, a duration, is added to the real time; so a test moves the clock.
	Now func() time.Time
	// Log wraps the log of a run. RAMET_TEST_DIE_AFTER=N: the process ends
	// after event N.
	Log func(Log) Log
	// Command is called before each command of the terminal UI. RAMET_TEST_PANIC: it
	// panics.
	Command func()
	// Watch is called at the start of a process, and the function that it returns at its end; nil: neither.
	// RAMET_TEST_PROFILE=FILE: where the processor's time goes, for go tool pprof.
	Watch func() (stop func())
}
