package cli

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
	"ramet/internal/store/database"
)

// runTakeover takes up runs whose orchestrators are gone.
type runTakeover struct {
	*Line
	ports     RunsPorts
	store     *rundir.Store
	kind      rundir.Kind // where the logs are
	handovers HandoverPort
	external  bool // also those that act outside
	all       sync.WaitGroup

	mu    sync.Mutex // guards what follows
	taken map[string]bool
}

// startTakeover begins to take up runs, until ctx ends or leave is called, which waits for the end.
func startTakeover(ctx context.Context, l *Line, p RunsPorts, external bool) (leave func(), err error) {
	place, err := l.Place()
	if err != nil {
		return nil, err
	}
	store, err := l.Runs("")
	if err != nil {
		return nil, err
	}
	estates, err := p.Handovers(ctx, place.DB)
	if err != nil {
		return nil, err
	}
	h := &runTakeover{Line: l, ports: p, store: store, kind: rundir.Kind(place.DB), handovers: estates, external: external, taken: map[string]bool{}}
	ctx, stop := context.WithCancel(ctx)
	h.all.Go(func() { h.look(ctx) })
	return func() { stop(); h.all.Wait(); estates.Close() }, nil
}

// look finds runs and begins with each.
func (h *runTakeover) look(ctx context.Context) {
	tick := time.NewTicker(h.handovers.Every())
	defer tick.Stop()
	for {
		orphans, _ := h.handovers.Orphans(ctx) // what cannot be asked now is asked again
		for _, runID := range orphans {
			if h.begin(runID) {
				h.all.Go(func() { h.take(ctx, runID) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// begin reports whether a run is new to this process: it is taken up once, and not again if that
// cannot be done here.
func (h *runTakeover) begin(runID string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken[runID] {
		return false
	}
	h.taken[runID] = true
	return true
}

// again lets a run be taken up once more.
func (h *runTakeover) again(runID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.taken, runID)
}

// take carries a run out, if it is still nobody's.
func (h *runTakeover) take(ctx context.Context, runID string) {
	legacy, ok, err := h.handovers.Claim(ctx, runID)
	if err == nil && !ok {
		h.again(runID)
		return
	}
	if err == nil {
		h.Note("takes up run " + runID)
		err = h.carry(ctx, runID, legacy)
	}
	switch {
	case err == nil:
		h.Note("run " + runID + " is DONE, in " + h.store.Dir(runID))
		h.again(runID)
	case fault.Is(err, fault.StorageUnreachable), fault.Is(err, fault.Locked), fault.Is(err, fault.Fenced):
		h.Note("leaves run " + runID + ": " + err.Error())
		h.again(runID)
	default:
		h.Note("leaves run " + runID + ": " + err.Error())
	}
}

// carry makes the run's folder here, and goes on with it.
func (h *runTakeover) carry(ctx context.Context, runID string, legacy HandedRun) (err error) {
	begun := false
	defer func() {
		if err != nil && !begun {
			h.handovers.Release(ctx, runID) // another host may know better
		}
	}()
	r, params, err := h.read(runID, legacy)
	if err != nil {
		return err
	}
	if err := h.MakeRuns(""); err != nil {
		return err
	}
	if err := h.store.Receive(ctx, runID, legacy.Handover); err != nil {
		return err
	}
	if _, err := fetchFiles(ctx, h.handovers, h.store, runID); err != nil {
		return err
	}
	if err := h.handovers.Evict(ctx, runID); err != nil {
		return err
	}
	x, err := h.store.TakeOver(ctx, runID, h.kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	if x.CurrentState().Terminal() {
		begun = true
		return h.handovers.Over(ctx, runID)
	}
	plan, err := run.PlanResume(x.Now(), h.store.Disk(runID), run.Wishes{})
	if err != nil {
		return err
	}
	own := h.Anew()
	ws, err := own.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	begun = true
	return h.ports.Carry(ctx, ws, Job{Store: h.store, Session: x, Recipe: r, Params: params, Model: legacy.Model, Plan: plan, NoCache: legacy.NoCache,
		Leave: legacy.Leave, Inherited: true, External: h.external, Watch: func(runner.Record) {}, Warn: h.Note})
}

// read reads what was left, and refuses what may not be done here.
func (h *runTakeover) read(runID string, legacy HandedRun) (*recipe.Recipe, map[string]string, error) {
	config, err := rundir.ParseConfig(legacy.Config)
	if err != nil {
		return nil, nil, err
	}
	r, err := readStartedRecipe(runID, config)
	if err != nil {
		return nil, nil, err
	}
	if !h.external && slices.ContainsFunc(r.Workers, func(w recipe.Worker) bool { return w.External }) {
		return nil, nil, fault.New(fault.Denied, "it acts outside of runs").WithHint("start the worker with --external, too")
	}
	r.Limits = legacy.Limits
	params, err := r.Bind(config.Set)
	return r, params, err
}

// fetchFromHost brings the files that another host made for a run whose log is in a server. home: the
// run is DONE, and nothing else is left to do.
func fetchFromHost(ctx context.Context, l *Line, p RunsPorts, store *rundir.Store, x *rundir.Session) (home bool, err error) {
	place, err := l.Place()
	if err != nil || !database.SameSchema(string(x.Kind), place.DB) {
		return false, err
	}
	estates, err := p.Handovers(ctx, place.DB)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, estates.Close()) }()
	n, err := fetchFiles(ctx, estates, store, x.RunID)
	if err != nil || n == 0 || x.CurrentState() != run.Done {
		return false, err
	}
	if err := errors.Join(x.Settle(), estates.Forget(ctx, x.RunID)); err != nil {
		return false, err
	}
	return true, l.Print(runEnd(store, x.Now()))
}

func fetchFiles(ctx context.Context, estates HandoverPort, store *rundir.Store, runID string) (n int, err error) {
	files, err := store.OpenFiles(runID)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	return estates.Fetch(ctx, runID, files)
}
