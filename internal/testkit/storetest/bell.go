package storetest

import (
	"context"
	"testing"

	"ramet/internal/core/registry"
)

// testBell: what every listener may count on, also where nobody can ring.
func testBell(t *testing.T, w *Workspace) {
	d := open(t, w)
	ctx, cancel := context.WithCancel(background)
	rung, ended := make(chan registry.Ring, 1), make(chan error)
	go func() { ended <- d.s.Listen(ctx, func(r registry.Ring) { rung <- r }) }()
	if w.Files == nil { // a server's
		equal(t, "when it begins", <-rung, registry.Ring{})
	}
	cancel()
	equal(t, "when it ends", <-ended, nil)
	equal(t, "nothing else rang", len(rung), 0)

	over, cancel := context.WithCancel(background)
	cancel()
	equal(t, "with a context that is over", d.s.Listen(over, func(registry.Ring) {}), nil)
}
