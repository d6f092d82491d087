package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"ramet/internal/core/trust"
	"ramet/internal/telemetry"
)

// Options are what a server is made of. The table of routes is the same whatever is
// missing: a part that is not there answers NOT_FOUND.
type Options struct {
	Version string
	Token   trust.Token
	Hosts   []string // names by which users reach it, besides those of loopback: NAME or NAME:PORT

	Telemetry telemetry.Store
	Ledger    Ledger
	Agents    Agents
	Page      http.Handler // answers GET / and /assets/…
	MCP       MCP          // answers POST /mcp
	// Reach asks the store for a sign of life, for /health; nil: it is not asked.
	Reach func(context.Context) error

	Now func() time.Time
	// Panicked is told of a route that panicked, with its stack, which holds no
	// request data. May be nil.
	Panicked func(route string, stack []byte)
	// HeaderTime and BodyTime are how long a client may take to send; 5 and 30 s.
	HeaderTime, BodyTime time.Duration
}

// Server answers. It is safe for concurrent use.
type Server struct {
	o       Options
	table   []Route // all that it answers
	router  *router
	access  *access
	pulse   *pulse
	hosts   hosts // set by Serve, before the first request
	counts  counts
	sums    sums
	stop    context.Context // ends when streams have to
	stopped context.CancelFunc
	serving sync.Once
}
