package rundir_test

import (
	"context"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run/rundir"
	"ramet/internal/testkit"
)

// A run whose owner lives is not opened for appending, whatever its lock says: there are no logs that could be asked.
func TestARunWhoseOwnerLivesIsLocked(t *testing.T) {
	s := newStore(t, t.TempDir())
	const server = rundir.Kind("postgres://somewhere/db")
	begin(t, s, "r", rundir.NDJSON).Close()
	testkit.OK(t, s.PutAgent("r", "its agent"))
	s.Logs, s.Server = nil, string(server)
	asked := ""
	s.Owner = func(_ context.Context, agent string) (string, error) {
		asked = agent
		return "host:1:alive", nil
	}
	if _, err := s.OpenSession(t.Context(), "r", server); !fault.Is(err, fault.Locked) || asked != "its agent" {
		t.Errorf("%v, asked for %q", err, asked)
	}
	if _, err := s.OpenSession(t.Context(), "r", server); !fault.Is(err, fault.Locked) {
		t.Error(err)
	}
	s.Owner = func(context.Context, string) (string, error) {
		return "", fault.New(fault.StorageUnreachable, "nobody can tell")
	}
	if _, err := s.OpenSession(t.Context(), "r", server); !fault.Is(err, fault.StorageUnreachable) {
		t.Error(err)
	}
}
