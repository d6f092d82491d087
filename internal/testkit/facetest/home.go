// Package facetest opens workspaces for tests of faces, and connects to them as editors do. The session, the store, the
// kernel and its permissions are real; models are scripted, and commands only pretend to run.
package facetest

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation/control"
	"ramet/internal/operation/session"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/tools/local"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// Home is ramet's home and one project.
type Home struct {
	Dir   string              // the project
	Gates llmtest.ScriptGates // of all scripts
	Ran   chan string         // command lines that ended
	Began chan string         // command lines that wait: those that begin with sleep

	t       testing.TB
	home    string
	mu      sync.Mutex
	scripts map[string]*llmtest.Script // by the names of models
}

// New makes an empty home and project.
func New(t testing.TB) *Home {
	t.Helper()
	top := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	h := &Home{Dir: filepath.Join(top, "project"), Ran: make(chan string, 100), Began: make(chan string, 100), t: t, home: filepath.Join(top, "home"), scripts: map[string]*llmtest.Script{}}
	testkit.WriteFile(t, filepath.Join(h.Dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	return h
}

// Script names a model that answers by a script.
func (h *Home) Script(lines ...string) string {
	h.t.Helper()
	s := testkit.Must(llmtest.ParseScript(strings.Join(lines, "\n"), h.Gates.Wait))(h.t)
	h.mu.Lock()
	defer h.mu.Unlock()
	name := fmt.Sprintf("s%d", len(h.scripts)+1)
	h.scripts[name] = s
	return "script/" + name
}

// Session returns a session in a folder, in which nothing is open.
func (h *Home) Session(dir string) *session.Session {
	env := map[string]string{"HOME": h.home, "RAMET_HOME": filepath.Join(h.home, "ramet")}
	return session.New(session.System{Getenv: func(name string) string { return env[name] }, Dir: dir, User: func() string { return "me" }, Now: time.Now, Start: h.start,
		Open: func(ctx context.Context, p config.WorkspaceLocation) (*store.Store, error) {
			return sqlite.Open(ctx, p.DB, sqlite.Options{Cwd: p.Project})
		}}, session.Choice{})
}

// Open opens the project's workspace and starts a kernel. When the test ends, it is closed and must be whole.
func (h *Home) Open(k session.Kernel) *session.Workspace {
	h.t.Helper()
	s := h.Session(h.Dir)
	w := testkit.Must(s.Open(h.t.Context()))(h.t)
	h.t.Cleanup(func() {
		w.Stopped()
		if _, err := w.Store.Audit(context.Background(), nil); err != nil {
			h.t.Errorf("verify: %v", err)
		}
		if err := s.Close(); err != nil {
			h.t.Error(err)
		}
	})
	testkit.OK(h.t, w.Start(h.t.Context(), k))
	return w
}

// start implements session.System.
func (h *Home) start(ctx context.Context, w *session.Workspace, o session.Kernel) (*session.Running, error) {
	server, err := control.Listen(w.Peers)
	if err != nil {
		return nil, err
	}
	k, err := kernel.Start(ctx, kernel.Options{Store: w.Store, Owner: server.Owner, Mail: kernel.Mail{Wake: kernel.WakeNever}, Resident: o.Ask != nil,
		Peers: kernel.Peers{Gone: w.Peers.Gone, Answers: w.Peers.Answers, Tell: func(ctx context.Context, rings ...registry.Ring) { w.Peers.Tell(ctx, server.Owner, rings...) }},
		Assemble: func(k *kernel.Kernel) kernel.Parts {
			guard := &permit.Policy{Settings: w.Turns().Unasked, Log: w.Store, Ask: k.Asking(o.Ask), Book: book{}}
			return kernel.Parts{
				Models:  kernel.Models{Model: h.model},
				Toolbox: kernel.Toolbox{Guard: guard, Tools: func(a agent.Agent) (tool.Box, error) { return h.tools(a, guard) }},
				Prompts: kernel.Prompts{System: func(agent.Agent, tool.Box) ([]llm.Message, string, error) {
					return []llm.Message{llm.Say(llm.System, "Work.")}, "", nil
				}},
			}
		}})
	if err != nil {
		server.Close()
		return nil, err
	}
	server.Serve(k, nil)
	return &session.Running{Kernel: k, Close: func() {
		k.Stop()
		server.Close()
	}}, nil
}

// model returns the model that is asked for, or else the agent's own; without either, one that says nothing.
func (h *Home) model(a agent.Agent, asked llm.Ref) (kernel.Model, error) {
	if asked == (llm.Ref{}) {
		asked = llm.Ref{Vendor: a.Provider, Name: a.Model}
	}
	if asked.Name == "" {
		asked = llm.Ref{Vendor: "script", Name: "none"}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.scripts[asked.Name]
	if s == nil {
		s = &llmtest.Script{}
	}
	return kernel.Model{Ref: asked, Info: llm.Model{Name: asked.Name}, Provider: s}, nil
}

// tools returns the tools that work on files, a plan and questions, and commands that only pretend to run.
func (h *Home) tools(a agent.Agent, person talk.Person) (tool.Box, error) {
	l, err := local.New(local.Options{Root: a.Cwd})
	if err != nil {
		return nil, err
	}
	box := talk.New(person)
	for _, one := range l.Tools() {
		if one.Spec().Name == "bash" {
			one = command{one, h}
		}
		box = append(box, one)
	}
	return box, nil
}

// command is bash, but runs nothing. A command that begins with sleep ends soon after it is stopped.
type command struct {
	tool.Tool
	home *Home
}

func (c command) Run(ctx context.Context, call tool.Call) (tool.Answer, error) {
	var args struct{ Command string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return tool.Answer{}, err
	}
	if strings.HasPrefix(args.Command, "sleep") {
		c.home.Began <- args.Command
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond)
	}
	c.home.Ran <- args.Command
	return tool.Answer{Text: "done"}, ctx.Err()
}

// book has no rules and keeps none.
type book struct{}

func (book) Rules() ([]permit.Rule, error)           { return nil, nil }
func (book) Save(context.Context, permit.Rule) error { return nil }
