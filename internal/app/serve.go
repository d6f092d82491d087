package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ramet/internal/base/durable"
	"ramet/internal/base/id"
	"ramet/internal/base/secret"
	"ramet/internal/face/cli"
	"ramet/internal/face/httpapi"
	"ramet/internal/face/mcpserver"
	"ramet/internal/operation/session"
	"ramet/internal/run/rundir"
	"ramet/internal/store/postgres"
	"ramet/internal/telemetry"
	records "ramet/internal/telemetry/store"
)

// service is an open workspace with a kernel that stays.
type service struct {
	ws      *session.Workspace
	asks    *httpapi.Asks
	kept    telemetry.Store
	closing *closers
}

// startService starts the kernel of a workspace, and what records its turns. watched reports whether a client shows
// questions. The caller closes it.
func startService(ctx context.Context, ws *session.Workspace, r cli.Service, watched func() bool) (_ *service, err error) {
	s := &service{ws: ws, asks: httpapi.NewAsks(0), closing: &closers{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closing.close())
		}
	}()
	if s.kept, err = openTelemetry(ctx, ws); err != nil {
		return nil, err
	}
	s.closing.add(s.kept.Close)
	if err := ws.Start(ctx, session.Kernel{Ask: s.asks, Watched: watched, Warn: r.Warn}); err != nil {
		return nil, err
	}
	s.closing.add(func() error { ws.Stopped(); return nil })
	ws.Answers = s.asks
	s.asks.Tell(ws.Kernel.Events.Publish)
	go ws.Turns().Follow(ctx)
	go letGo(ctx, ws, s.kept, r.Warn)
	keepTurnlog(ctx, ws, r, &routes{ws: ws, note: r.Warn, kept: s.kept, closing: s.closing}, s.closing)
	return s, nil
}

func serveMCP(ctx context.Context, s cli.MCPService) error {
	life, end := context.WithCancel(ctx)
	defer end()
	if s.Stays {
		life = context.WithoutCancel(ctx)
	}
	server := mcpserver.New(life, mcpserver.Options{Version: version, Workspace: s.Workspace, Begin: s.Begin,
		Runs: s.Runs, User: s.User})
	return server.Serve(ctx, s.By, s.In, s.Out)
}

// turnlogDir returns the folder of the turn logs of a workspace's agents.
func turnlogDir(ws *session.Workspace) string {
	sum := sha256.Sum256([]byte(ws.Place.DB))
	return filepath.Join(ws.Home, "telemetry", fmt.Sprintf("%x", sum[:8]))
}

// hide takes secrets out of what is shown live. Texts repeat, and looking takes time.
func hide(ws *session.Workspace) func(string) string {
	known := secret.Remember(ws.Secrets)
	return func(s string) string {
		clean, _ := known.All(s)
		return clean
	}
}

// keepTurnlog records the turns of agents while the server runs, and those since the last
// one did. It never keeps the server from serving.
func keepTurnlog(ctx context.Context, ws *session.Workspace, r cli.Service, w *routes, closing *closers) {
	warn := func(err error) { r.Warn("turns of agents are not recorded in telemetry: " + err.Error()) }
	dir := turnlogDir(ws)
	if err := durable.MakeFolder(dir, 0o700); err != nil {
		warn(err)
		return
	}
	box, shut, err := w.open(ctx, filepath.Join(dir, "outbox.jsonl"))
	if err != nil {
		warn(err)
		return
	}
	sent, err := spans(r.Warn, closing)
	if err != nil {
		r.Warn(err.Error())
	}
	put := func(all ...telemetry.Delivery) {
		box.Put(all...)
		sent.Put(all...)
	}
	host, _ := os.Hostname() // without it the records have none
	own := runAgents{store: r.Runs}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := telemetry.KeepTurnlog(ctx, telemetry.TurnlogOptions{Feed: ws.Store, Agents: ws.Store, InRun: own.has, Put: put,
			Path: filepath.Join(dir, "cursor"), Host: host, Tell: r.Warn})
		if err != nil {
			warn(err)
		}
	}()
	closing.add(func() error {
		stop()
		<-done
		return shut()
	})
}

// runAgents finds the runs' own agents.
type runAgents struct {
	store *rundir.Store
	known map[id.Agent]bool
}

// has reports whether an agent is a run's own. It reads the folder again for one that it does not know: a run
// may have begun since.
func (r *runAgents) has(a id.Agent) bool {
	if r.known[a] {
		return true
	}
	r.known = map[id.Agent]bool{}
	ids, err := r.store.List()
	if err != nil {
		return false
	}
	for _, run := range ids {
		if own, ok, err := r.store.Agent(run); err == nil && ok {
			r.known[id.Agent(own)] = true
		}
	}
	return r.known[a]
}

// openTelemetry opens the records of this home, or of the database that hosts share.
func openTelemetry(ctx context.Context, ws *session.Workspace) (telemetry.Store, error) {
	if postgres.IsURL(ws.Place.DB) {
		return records.OpenServer(ctx, ws.Place.DB)
	}
	return records.OpenFile(ctx, telemetryFile(ws))
}

func telemetryFile(ws *session.Workspace) string { return filepath.Join(ws.Home, "telemetry.db") }
