package app

import (
	"context"
	"os"
	"strings"
	"sync"

	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/model/dial"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

// modelServers asks those who run models.
func modelServers() operation.Vendors {
	if switches().Alone {
		return operation.Vendors{}
	}
	return operation.Vendors{
		Try: func(ctx context.Context, v catalog.Vendor, key, base string) error {
			return dial.TryKey(ctx, v, dial.Access{Key: key, Base: base}, nil)
		},
		Learn: func(ctx context.Context, v catalog.Vendor, key, base string) error {
			return dial.LearnModels(ctx, v, dial.Access{Key: key, Base: base, Token: printed(v)}, nil)
		},
		Find: func(ctx context.Context, vendors []catalog.Vendor) map[string][]string {
			out := map[string][]string{}
			for _, f := range dial.FindModels(ctx, vendors, nil) {
				for _, m := range f.Models {
					out[f.Vendor.Name] = append(out[f.Vendor.Name], m.Name)
				}
			}
			return out
		},
	}
}

// printed gives the tokens of a vendor's token_command; nil where it has none.
func printed(v catalog.Vendor) func(context.Context) (string, error) {
	if v.TokenCommand == "" {
		return nil
	}
	return commandTokens(v).Token
}

// commandSources holds one token source for each vendor with a token_command in this process, so that the command
// doesn't run for every model and every list of models.
var commandSources sync.Map // "vendor\x00command" to *google.Source

func commandTokens(v catalog.Vendor) *dial.GoogleSource {
	s, _ := commandSources.LoadOrStore(v.Name+"\x00"+v.TokenCommand, &dial.GoogleSource{Command: v.TokenCommand, Env: os.Environ()})
	return s.(*dial.GoogleSource)
}

// askedWindow returns the context window that a model's local server reports.
func askedWindow(v catalog.Vendor, key, base, model string) (int64, bool) {
	if switches().Alone || !v.Local {
		return 0, false
	}
	return dial.ModelWindow(context.Background(), v, dial.Access{Key: key, Base: base}, model, nil)
}

// learner asks local servers for their models, each once.
type learner struct {
	mu    sync.Mutex
	asked map[string]bool
}

// learn asks the server whose model is asked for, or all that are named where there
// is none to ask for. What does not answer will say so when it is asked for more.
func (l *learner) learn(keys *credential.Store, name string) {
	vendor, _, _ := strings.Cut(name, "/")
	ask := modelServers().Learn
	for _, v := range catalog.Vendors() {
		chosen := name != "" && vendor == v.Name // then at its usual address, if no setting tells another
		if ask == nil || !v.Asks || name != "" && !chosen || !chosen && !named(keys, v) || !l.first(v.Name) {
			continue
		}
		access := keys.Access(v)
		ask(context.Background(), v, access.Key.Reveal(), access.Base)
	}
}

// named reports whether a person configured this server.
func named(keys *credential.Store, v catalog.Vendor) bool {
	ok, _ := keys.Usable(v)
	return ok && (v.Added || keys.Access(v).Base != "")
}

// first reports whether this is the first question with this name.
func (l *learner) first(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		l.asked = map[string]bool{}
	}
	known := l.asked[name]
	l.asked[name] = true
	return !known
}

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
		if ref, err := dial.Choose(model, usable, switches().Script != nil); err == nil {
			n = reads(conf, keys, ref)
		}
		known[model] = n
		return n
	}
}

// runWindows returns those of a run's workers: without a model of their own they have that of the
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

func modelOf(ctx context.Context, ws *session.Workspace, which string) string {
	a, err := agent.Find(ctx, ws.Store, which)
	if err != nil || a.Provider == "" || a.Model == "" {
		return ""
	}
	return a.Provider + "/" + a.Model
}
