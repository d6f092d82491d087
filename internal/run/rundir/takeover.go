package rundir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Handover holds the first files of a folder for a run whose log is in a server, on another host
// than the one where it was begun.
type Handover struct {
	Kind   Kind // the server
	Config []byte
	Agent  string // the run's own agent; empty: it has none yet
}

// Receive makes the folder of a run that was begun elsewhere, if it is not there yet. One that
// is there with another configuration is CONFLICT.
func (s *Store) Receive(ctx context.Context, runID string, e Handover) error {
	if err := run.CheckRunID(runID); err != nil {
		return err
	}
	if err := s.admitAll(); err != nil {
		return err
	}
	return s.whileLocked(ctx, func() error { return s.receive(runID, e) })
}

func (s *Store) receive(runID string, e Handover) error {
	if s.Has(runID) {
		return s.received(runID, e)
	}
	return s.makeAside(runID, func(aside *Store) error {
		if err := aside.create(runID, e.Kind, e.Config); err != nil {
			return err
		}
		return aside.receiveAgent(runID, e)
	})
}

func (s *Store) received(runID string, e Handover) error {
	have, err := s.ConfigSum(runID)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(e.Config); have != hex.EncodeToString(sum[:]) {
		return fault.New(fault.Conflict, "run %s is here already, with another configuration", runID).
			WithHint("nothing was changed; give another folder with RAMET_RUNS")
	}
	return s.receiveAgent(runID, e)
}

func (s *Store) receiveAgent(runID string, e Handover) error {
	if e.Agent == "" {
		return nil
	}
	return s.PutAgent(runID, e.Agent)
}

// TakeOver opens a run that was received, and makes it our own. Its log must be whole, and begin
// with the configuration that was received; else it is UNTRUSTED, and nothing was written.
func (s *Store) TakeOver(ctx context.Context, runID string, kind Kind) (*Session, error) {
	x, err := s.OpenSession(ctx, runID, kind)
	if err != nil {
		return nil, err
	}
	if err := x.inherit(ctx); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *Session) inherit(ctx context.Context) error {
	began, err := x.began(ctx)
	if err != nil {
		return err
	}
	sum, err := x.store.ConfigSum(x.RunID)
	if err != nil {
		return err
	}
	if sum != began {
		return untrustedRun(x.RunID, "what was left to its heir is not the configuration that it began with")
	}
	if x.Own(ctx) == nil {
		return nil
	}
	consent, err := x.Consent(ctx)
	if err != nil {
		return err
	}
	return x.Adopt(ctx, consent)
}
