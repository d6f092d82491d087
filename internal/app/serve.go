package app

import (
	"context"
	"errors"
	"path/filepath"

	"ramet/internal/cli"
	"ramet/internal/control"
	"ramet/internal/httpapi"
	"ramet/internal/secret"
	"ramet/internal/store/postgres"
	"ramet/internal/telemetry"
	records "ramet/internal/telemetry/store"
	"ramet/internal/web"
)

// serve serves the HTTP API of a workspace, with a kernel of its own.
func serve(ctx context.Context, r cli.ServeRequest) (err error) {
	closing := &closers{}
	defer func() { err = errors.Join(err, closing.close()) }()
	kept, err := openTelemetry(ctx, r.Kernel)
	if err != nil {
		return err
	}
	closing.add(kept.Close)
	asks := httpapi.NewAsks(0)
	r.Kernel.Ask = asks
	k, err := kernel(ctx, r.Kernel)
	if err != nil {
		return err
	}
	closing.add(func() error { k.Close(); return nil })
	asks.Tell(k.Events.Publish)
	events, err := httpapi.StartEvents(ctx, httpapi.EventsOptions{Bus: &k.Events, Feed: r.Kernel.Workspace, Hide: secret.New(r.Kernel.Keys.Values()).Own})
	if err != nil {
		return err
	}
	closing.add(func() error { events.Stop(); return nil })
	server := httpapi.New(httpapi.Options{
		Version: version, Token: r.Token, Hosts: r.Hosts,
		Telemetry: kept, RunLogs: httpapi.OverRunDir(r.Runs), Ledger: httpapi.OverLedger(r.Ledger), Usage: r.Kernel.Workspace,
		Agents: httpapi.Agents{Store: r.Kernel.Workspace, Kernel: k.Kernel, Place: control.At(r.Kernel.Home, r.Kernel.Place.DB),
			Events: events, Asks: asks, Cascade: r.Kernel.Config.Orphans == "cascade"},
		Page: web.Handler(),
	})
	code, _ := server.LoginCode()
	r.Ready(httpapi.LoginPath(code))
	return server.Serve(ctx, r.Listener)
}

// openTelemetry opens the records of this home, or of the database that hosts share.
func openTelemetry(ctx context.Context, r cli.KernelRequest) (telemetry.Store, error) {
	if postgres.IsURL(r.Place.DB) {
		return records.OpenServer(ctx, r.Place.DB)
	}
	return records.OpenFile(ctx, filepath.Join(r.Home, "telemetry.db"))
}
