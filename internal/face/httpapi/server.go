package httpapi

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/core/trust"
	"ramet/internal/operation/public"
	"ramet/internal/telemetry"
)

// Options configure a server.
type Options struct {
	Version  string
	Token    trust.Token
	Addr     net.Addr // of the listener; nil: Serve takes it from there
	Hosts    []string // names by which users reach it, in addition to those of loopback: NAME or NAME:PORT
	Sessions string   // the file that keeps the sessions of browsers; empty: they end with the server
	Projects Projects
	Page     http.Handler // answers GET / and /assets/…

	Now func() time.Time
	// Panicked is told of a route that panicked, with its stack, which holds no
	// request data. May be nil.
	Panicked func(route string, stack []byte)
	// HeaderTime and BodyTime are how long a client may take to send; 5 and 30 s.
	HeaderTime, BodyTime time.Duration
}

// Projects finds the projects that requests name. Its methods are safe for concurrent use.
type Projects interface {
	// OpenProject returns the project with this key, which it opens if it is known and not open. NOT_FOUND:
	// there is none. An empty key names the project of requests that name none; CONFLICT: there are several.
	OpenProject(ctx context.Context, key string) (*Project, error)
	// HeldProject returns the same project if it is open, else nil.
	HeldProject(key string) *Project
	// ListProjects lists the projects that are open, and the others of the home.
	ListProjects(ctx context.Context) ([]public.KnownProject, error)
}

// Parts gives the routes of one project what they work on. The table of routes is the same whatever is
// missing: a part that is not there answers NOT_FOUND.
type Parts struct {
	Key       string // of the project
	Telemetry telemetry.Store
	Agents    Agents
	MCP       MCP // answers POST /mcp
	// Reach asks the store for a sign of life, for /health; nil: it is not asked.
	Reach func(context.Context) error
	// Attend is called when a request begins, and what it returns when it ends; may be nil.
	Attend func() func()
}

// Project answers the requests of one project.
type Project struct {
	parts Parts
	table []Route // as in the server's, in the same order
	pulse *pulse
}

// NewProject makes a project of its parts.
func NewProject(parts Parts) *Project {
	return &Project{parts: parts, table: parts.routes(), pulse: &pulse{ask: parts.Reach, heard: time.Now()}}
}

func (p Parts) routes() []Route {
	table := records{p.Telemetry}.routes()
	table = append(table, mcpRoute(p.MCP))
	table = append(table, agentRoutes(p.Agents)...)
	for i := range table {
		table[i].number = i + 1
	}
	return table
}

// Server answers. It is safe for concurrent use.
type Server struct {
	o       Options
	table   []Route // those of projects, then its own
	router  *router
	access  *access
	hosts   atomic.Pointer[hosts] // set by Serve, before the first request
	addr    net.Addr
	counts  counts
	stop    context.Context // ends when streams have to
	stopped context.CancelFunc
	serving sync.Once
}
