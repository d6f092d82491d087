package app

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/operation/session"
	"ramet/internal/store/database"
	"ramet/internal/telemetry"
	"ramet/internal/telemetry/outbox"
)

// routes knows how telemetry gets to where it is to go: to the service that the user
// names, or into the store of this home. What waits for somewhere else is sent there,
// or kept; it never goes here instead.
type routes struct {
	ws      *session.Workspace
	note    func(string)
	kept    telemetry.Store // of this home; nil: not open yet
	closing *closers        // of what is opened on the way
}

// store opens the store of this home once.
func (w *routes) store(ctx context.Context) (telemetry.Store, error) {
	if w.kept != nil {
		return w.kept, nil
	}
	kept, err := openTelemetry(ctx, w.ws)
	if err == nil {
		w.kept = kept
		w.closing.add(kept.Close)
	}
	return kept, err
}

// here returns the destination of telemetry that begins now.
func (w *routes) here(ctx context.Context) (outbox.Options, error) {
	o := w.options()
	if o.URL = os.Getenv(telemetryURL); o.URL != "" {
		o.Token = os.Getenv(telemetryToken)
		return o, nil
	}
	var err error
	o.Name = telemetryName(w.ws)
	o.Local, err = w.store(ctx)
	return o, err
}

// to is the way to a destination that an outbox names. A token is known for the service
// of this process alone, and goes to no other.
func (w *routes) to(ctx context.Context, t outbox.To) (outbox.Options, error) {
	o := w.options()
	switch own := os.Getenv(telemetryURL); {
	case t.Name == "" || t.Service() && own != "" && outbox.Address(own) == t.Name:
		return w.here(ctx)
	case t.Name == telemetryName(w.ws):
		var err error
		o.Name = t.Name
		o.Local, err = w.store(ctx)
		return o, err
	case t.Service() && !t.Token:
		o.URL = t.Name
	default:
		o.Name, o.Nowhere = t.Name, true
	}
	return o, nil
}

func (w *routes) options() outbox.Options {
	return outbox.Options{Report: func(err error) { w.note("telemetry: " + err.Error()) }}
}

// telemetryName says which store that of this home, or of the shared database, is.
func telemetryName(ws *session.Workspace) string {
	if database.IsPostgres(ws.Place.DB) {
		if pg, err := database.ParsePostgres(ws.Place.DB); err == nil {
			return pg.Place
		}
	}
	return telemetryFile(ws)
}

// open opens the outbox for what begins now; the caller closes it.
func (w *routes) open(ctx context.Context, plain string) (*outbox.Outbox, func() error, error) {
	o, err := w.here(ctx)
	if err != nil {
		return nil, nil, err
	}
	path, err := outboxAt(plain, o.To())
	if err != nil {
		return nil, nil, err
	}
	return w.openAt(ctx, path, o)
}

func (w *routes) openAt(ctx context.Context, path string, o outbox.Options) (*outbox.Outbox, func() error, error) {
	box, err := openSoon(ctx, path, o)
	if err != nil {
		return nil, nil, err
	}
	n := noteOf{path, o.To().Name}
	n.keep(w.ws.Home)
	return box, closeBox(box, n, w.ws.Home), nil
}

// held limits the time a process that delivers leftover records may hold an outbox.
const held = 3 * time.Second

// openSoon opens an outbox that somebody else may be about to give back.
func openSoon(ctx context.Context, path string, o outbox.Options) (*outbox.Outbox, error) {
	for end := time.Now().Add(2 * held); ; {
		box, err := outbox.Open(path, o)
		if !fault.Is(err, fault.Locked) || ctx.Err() != nil || time.Now().After(end) {
			return box, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// outboxAt is the file in which what goes to a destination waits: the plain one, unless
// that goes elsewhere already.
func outboxAt(plain string, to outbox.To) (string, error) {
	have, err := outbox.Destination(plain)
	if err != nil || have.Name == "" || have.Name == to.Name {
		return plain, err
	}
	sum := sha256.Sum256([]byte(to.Name))
	return fmt.Sprintf("%s-%x.jsonl", strings.TrimSuffix(plain, ".jsonl"), sum[:4]), nil
}

// outboxesBeside are the files that outboxAt can have made, and are there.
func outboxesBeside(plain string) []string {
	stem := strings.TrimSuffix(plain, ".jsonl")
	more, _ := filepath.Glob(stem + "-????????.jsonl") // the pattern is a good one
	var out []string
	for _, path := range append([]string{plain}, more...) {
		if _, err := os.Stat(path); err == nil {
			out = append(out, path)
		}
	}
	return out
}
