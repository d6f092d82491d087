package store

import (
	"context"

	"ramet/internal/core/registry"
)

// Call implements registry.Bell.
func (s *Store) Call(ctx context.Context, r registry.Ring) (bool, error) {
	said := s.d.Announce(r.What, r.Agent)
	if len(said) == 0 {
		return false, nil
	}
	return true, s.write(ctx, "ring", func(tx Tx) error { return s.d.Run(ctx, tx, said) })
}
