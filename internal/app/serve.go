package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/face/cli"
	"ramet/internal/face/httpapi"
	"ramet/internal/face/mcpserver"
	"ramet/internal/operation/session"
	"ramet/internal/run/rundir"
	"ramet/internal/store/database"
	"ramet/internal/store/postgres"
	"ramet/internal/telemetry"
	"ramet/internal/telemetry/outbox"
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

// to returns the way to a destination that an outbox names. A token is known for the service
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
	return box, func() error {
		empty := box.Unsent() == 0
		err := box.Close()
		if empty && err == nil {
			n.forget(w.ws.Home)
		}
		return err
	}, nil
}

// held limits the time a process that delivers leftover records may hold an outbox.
const held = 3 * time.Second

// openSoon opens an outbox that another process may be about to give back.
func openSoon(ctx context.Context, path string, o outbox.Options) (*outbox.Outbox, error) {
	for end := time.Now().Add(2 * held); ; {
		box, err := outbox.Open(path, o)
		if !fault.Is(err, fault.Locked) || ctx.Err() != nil || time.Now().After(end) {
			return box, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// outboxAt returns the file of the records that wait for a destination: the plain one, unless
// that goes elsewhere already.
func outboxAt(plain string, to outbox.To) (string, error) {
	have, err := outbox.Destination(plain)
	if err != nil || have.Name == "" || have.Name == to.Name {
		return plain, err
	}
	sum := sha256.Sum256([]byte(to.Name))
	return fmt.Sprintf("%s-%x.jsonl", strings.TrimSuffix(plain, ".jsonl"), sum[:4]), nil
}

// outboxesBeside returns the files that outboxAt can have made, and are there.
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

// noteOf is the record in ramet's home of an outbox that is open or still has records.
type noteOf struct {
	Path string `json:"path"`
	To   string `json:"to"`
}

func notesDir(home string) string { return filepath.Join(home, "telemetry", "waiting") }

func (n noteOf) file(home string) string {
	sum := sha256.Sum256([]byte(n.Path))
	return filepath.Join(notesDir(home), fmt.Sprintf("%x.json", sum[:8]))
}

// keep remembers it. Without that it is delivered by the process that resumes the run.
func (n noteOf) keep(home string) {
	text, err := json.Marshal(n)
	if err != nil || durable.MakeFolder(notesDir(home), 0o700) != nil {
		return
	}
	_ = durable.WriteFile(n.file(home), append(text, '\n'), 0o600)
}

func (n noteOf) forget(home string) { step.Remove(n.file(home)) }

// noted returns all that are remembered.
func noted(home string) []noteOf {
	entries, _ := os.ReadDir(notesDir(home)) // none yet is no error
	var out []noteOf
	for _, e := range entries {
		var n noteOf
		text, err := os.ReadFile(filepath.Join(notesDir(home), e.Name()))
		if err == nil && json.Unmarshal(text, &n) == nil && filepath.Base(n.file(home)) == e.Name() {
			out = append(out, n)
		}
	}
	return out
}

// The postman delivers what telemetry earlier processes could not, to wherever it was to
// go then. Which outboxes those are is noted in ramet's home: a file that lies in a
// project makes no process send anything. Every process with a kernel has one; it delays nothing else. What it does not get
// rid of stays for the next.

const (
	nextRound = 10 * time.Second       // for processes that stay
	farewell  = 100 * time.Millisecond // what the end of a process waits for it
)

// startPostman begins a round in the background; stop ends it.
func startPostman(ctx context.Context, ws *session.Workspace) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for len(noted(ws.Home)) > 0 && ctx.Err() == nil {
			goRound(ctx, ws)
			select {
			case <-ctx.Done():
			case <-time.After(nextRound):
			}
		}
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(farewell): // what it does is safe to be broken off
		}
	}
}

func goRound(ctx context.Context, ws *session.Workspace) {
	closing := &closers{}
	defer closing.close() // of a store that was only written
	w := &routes{ws: ws, note: func(string) {}, closing: closing}
	for _, n := range noted(ws.Home) {
		if ctx.Err() != nil {
			return
		}
		if err := n.deliver(ctx, w); err == nil {
			n.forget(ws.Home)
		}
	}
}

// deliver sends what waits in one outbox, if no other process does and there is a way.
// nil: nothing waits there any more.
func (n noteOf) deliver(ctx context.Context, w *routes) error {
	if _, err := os.Lstat(n.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	to, err := outbox.Destination(n.Path)
	if err != nil {
		return err
	}
	if to.Name != n.To {
		return nil // it is another one by now
	}
	o, err := w.to(ctx, to)
	if err != nil {
		return err
	}
	if o.Nowhere {
		return errNoWay
	}
	o.Pauses, o.Timeout = []time.Duration{}, held
	box, err := outbox.Open(n.Path, o)
	if err != nil {
		return err // another process may have it, and delivers
	}
	ctx, cancel := context.WithTimeout(ctx, held)
	defer cancel()
	return errors.Join(box.Flush(ctx), box.Close())
}

var errNoWay = errors.New("it can't be reached from here")

// telemetrySize measures the records of a workspace.
func telemetrySize(ctx context.Context, ws *session.Workspace) (n, bytes int64, since time.Time, there bool, err error) {
	var size records.Size
	if postgres.IsURL(ws.Place.DB) {
		size, there, err = records.MeasureServer(ctx, ws.Place.DB)
	} else {
		size, there, err = records.MeasureFile(ctx, telemetryFile(ws))
	}
	return size.Records, size.Bytes, size.Oldest, there, err
}

// letGoEvery is the interval at which a server looks for records that are too old.
const letGoEvery = 6 * time.Hour

// letGo takes away records of telemetry that are older than the user wants to keep them,
// until ctx ends.
func letGo(ctx context.Context, ws *session.Workspace, kept telemetry.Store, warn func(string)) {
	days := ws.Config.Number("telemetry_days")
	s, ours := kept.(*records.Store)
	if days == 0 || !ours {
		return
	}
	tick := time.NewTicker(letGoEvery)
	defer tick.Stop()
	for {
		if _, err := s.Prune(ctx, time.Now().AddDate(0, 0, -days)); err != nil && ctx.Err() == nil {
			warn("old records of telemetry stay: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
