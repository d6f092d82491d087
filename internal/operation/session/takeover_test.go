package session

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver"
	"ramet/internal/kernel"
	"ramet/internal/operation/control"
	"ramet/internal/testkit"
	"ramet/internal/turn/permit"
)

// deadOwner returns the name of a kernel of this machine that is gone.
func deadOwner(t *testing.T, w *Workspace) string {
	t.Helper()
	s := testkit.Must(control.Listen(w.Peers))(t)
	s.Owe() // its lock tells that it is gone
	s.Close()
	return s.Owner
}

// kernels lets a workspace start kernels that recover what dead ones left.
func kernels(w *Workspace) {
	w.start = func(ctx context.Context, _ Kernel) (*Running, error) {
		k, err := kernel.Start(ctx, kernel.Options{Store: w.Store, Owner: "rescuer", Peers: kernel.Peers{Gone: w.Peers.Gone, Tell: func(context.Context, ...registry.Ring) {}}})
		if err != nil {
			return nil, err
		}
		return &Running{Kernel: k, Close: k.Stop}, nil
	}
}

// Every verb that writes goes on at once after a turn whose process was killed, and none while its owner may live.
func TestVerbsTakeOverFromDeadKernels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
	add(t, path, `{"type":"session_meta","payload":{"id":"c"}}`, codexSaid("user", "a"), codexSaid("assistant", "b"))
	verbs := map[string]func(w *Workspace, zero agent.Agent) error{
		"import": func(w *Workspace, _ agent.Agent) error { return tryImport(t, w, path) },
		"fork": func(w *Workspace, zero agent.Agent) error {
			_, err := w.Agents().Fork(t.Context(), Fork{Parent: zero})
			return err
		},
		"fork, of a row that is out of date": func(w *Workspace, zero agent.Agent) error {
			zero.Lease = agent.Lease{}
			_, err := w.Agents().Fork(t.Context(), Fork{Parent: zero})
			return err
		},
		"rename": func(w *Workspace, zero agent.Agent) error {
			return failed(w.Agents().Rename(t.Context(), zero, "ada"))
		},
		"mark": func(w *Workspace, zero agent.Agent) error { return failed(w.History().Mark(t.Context(), zero, "")) },
		"rewind": func(w *Workspace, zero agent.Agent) error {
			return failed(w.History().RewindTo(t.Context(), zero, zero.Head))
		},
		"effort": func(w *Workspace, zero agent.Agent) error { return w.Models().SetEffort(t.Context(), zero, "high") },
		"mode":   func(w *Workspace, zero agent.Agent) error { return w.Turns().SetMode(t.Context(), zero, permit.Ask) },
		"program's mode": func(w *Workspace, zero agent.Agent) error {
			return w.Turns().orderMode(t.Context(), zero, driver.ModeEntry("claude", "plan"))
		},
		"order": func(w *Workspace, zero agent.Agent) error {
			return w.Agents().order(t.Context(), zero.ID, history.NewClear())
		},
		"clear": func(w *Workspace, zero agent.Agent) error {
			_, err := w.History().write(t.Context(), zero, history.NewClear())
			return err
		},
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			w := open(t, nil)
			kernels(w)
			zero := found(t, w, "0")
			testkit.Must(w.Store.Acquire(t.Context(), zero.ID, deadOwner(t, w), time.Hour))(t)
			testkit.OK(t, verb(w, found(t, w, "0")))
		})
	}
	broken, wrong := open(t, nil), errors.New("no kernel starts")
	broken.start = func(context.Context, Kernel) (*Running, error) { return nil, wrong }
	testkit.Must(broken.Store.Acquire(t.Context(), found(t, broken, "0").ID, deadOwner(t, broken), time.Hour))(t)
	verbs["rewind to a mark"] = func(w *Workspace, zero agent.Agent) error { return failed(w.History().Rewind(t.Context(), zero, "")) }
	verbs["redact"] = func(w *Workspace, zero agent.Agent) error { return w.History().Redact(t.Context(), zero, zero.Head) }
	verbs["restore"] = func(w *Workspace, zero agent.Agent) error {
		return failed(w.Files().Restore(t.Context(), Restoring{Agent: zero}))
	}
	for name, verb := range verbs {
		if name == "import" || strings.Contains(name, "out of date") {
			continue
		}
		if err := verb(broken, found(t, broken, "0")); !errors.Is(err, wrong) && !fault.Is(err, fault.Leased) {
			t.Errorf("%s, with a dead kernel that nothing takes over from: %v", name, err)
		}
	}
	w := open(t, nil)
	kernels(w)
	testkit.Must(w.Store.Acquire(t.Context(), found(t, w, "0").ID, "elsewhere:1:000000000000", time.Hour))(t)
	if err := verbs["clear"](w, found(t, w, "0")); !fault.Is(err, fault.Leased) {
		t.Error(err)
	}
}

func tryImport(t *testing.T, w *Workspace, path string) error {
	bring(t, w, path, 0)
	return nil
}
