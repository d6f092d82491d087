package storetest

import (
	"context"
	"testing"

	"ramet/internal/registry"
)

// testBell: what every listener may count on, also where nobody can ring.
func testBell(t *testing.T, w *Workspace) {
	d := open(t, w)
	ctx, cancel := context.WithCancel(background)
	rung, ended := make(chan registry.Ring), make(chan error)
	go func() { ended <- d.s.Listen(ctx, func(r registry.Ring) { rung <- r }) }()
	equal(t, "when it begins", <-rung, registry.Ring{})
	cancel()
	equal(t, "when it ends", <-ended, nil)

	over, cancel := context.WithCancel(background)
	cancel()
	equal(t, "with a context that is over", d.s.Listen(over, func(registry.Ring) {}), nil)
}
