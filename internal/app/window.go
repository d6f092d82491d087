package app

import (
	"context"
	"sync"

	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/model/dial"
	"ramet/internal/model/llm"
	"ramet/internal/operation/session"
)

// reads returns the context window of a model: the configured one, that of its local server, or that of the catalog; 0
// if unknown.
func reads(conf *config.Config, keys *credential.Store, ref llm.Ref) int64 {
	if n := conf.Number("context"); n > 0 {
		return int64(n)
	}
	v, err := catalog.Find(ref.Vendor)
	if err != nil {
		return 0
	}
	access := keys.Access(v)
	if n, ok := askedWindow(v, access.Key.Reveal(), access.Base, ref.Name); ok {
		return n
	}
	m, _ := v.Model(ref.Name)
	return m.Context
}

// windows returns a function that returns the context window of a model and asks only once for each. An empty name is
// the agent's own model, else the configured one.
func windows(conf *config.Config, keys *credential.Store, own string) func(model string) int64 {
	var mu sync.Mutex
	known := map[string]int64{}
	var local learner
	return func(model string) int64 {
		if model == "" {
			model = own
		}
		if model == "" {
			model = conf.Model
		}
		mu.Lock()
		defer mu.Unlock()
		n, ok := known[model]
		if ok {
			return n
		}
		local.learn(keys, model)
		usable := func(v catalog.Vendor) bool { ok, _ := keys.Usable(v); return ok }
		if ref, err := dial.Choose(model, usable, switches().Scripts); err == nil {
			n = reads(conf, keys, ref)
		}
		known[model] = n
		return n
	}
}

// runWindows are those of a run's workers: without a model of their own they have that of the
// agent that the run's is forked from.
func runWindows(ctx context.Context, s *session.Session) (func(model string) int64, error) {
	conf, err := s.Config()
	if err != nil {
		return nil, err
	}
	keys, err := s.Keys()
	if err != nil {
		return nil, err
	}
	own := ""
	if ws := s.Opened(); ws != nil {
		own = modelOf(ctx, ws, "0")
	}
	return windows(conf, keys, own), nil
}

// modelOf is an agent's own model; empty: it has none.
func modelOf(ctx context.Context, ws *session.Workspace, which string) string {
	a, err := agent.Find(ctx, ws.Store, which)
	if err != nil || a.Provider == "" || a.Model == "" {
		return ""
	}
	return a.Provider + "/" + a.Model
}
