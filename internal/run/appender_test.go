package run_test

import (
	"errors"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	_ "ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

func TestFailedWrites(t *testing.T) {
	full := fault.New(fault.StorageFull, "full")
	var answer error
	c := run.NewAppender("the log", nil, run.Entry{}, func([]run.Entry) error { return answer })
	try := func(n int) error {
		_, err := c.Append(t.Context(), runtest.LogDraft(n))
		return err
	}
	for _, answer = range []error{full, nil} {
		if err := try(0); !errors.Is(err, answer) {
			t.Error(err)
		}
	}
	answer = full
	if err := try(1); !errors.Is(err, full) {
		t.Error(err)
	}
	answer = nil
	if err := try(1); err != nil { // its id is not taken
		t.Error(err)
	}
	answer = &run.FatalError{fault.New(fault.StorageIO, "sync failed")}
	if err := try(2); !fault.Is(err, fault.StorageIO) {
		t.Error(err)
	}
	answer = nil
	for range 2 {
		if err := try(2); !fault.Is(err, fault.StorageIO) || !strings.Contains(err.Error(), "earlier") {
			t.Error(err)
		}
	}
	if c.Count() != 2 {
		t.Errorf("ends at %d", c.Count())
	}
	c.Close()
}
