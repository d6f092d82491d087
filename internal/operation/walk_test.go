package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/operation"
	"ramet/internal/operation/control"
	"ramet/internal/operation/session"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
)

var (
	faces   = []operation.Face{operation.CLI, operation.HTTP, operation.MCP, operation.Slash}
	tagKey  = regexp.MustCompile(`([a-z]+):"`)
	name    = regexp.MustCompile(`^[a-z][a-z_-]*$`)
	tagKeys = []string{"json", "help", "arg", "slash", "short", "flag", "value", "alias", "faces", "default", "range"}
	globals = []string{"db", "home", "workspace", "json", "help"} // flags that every command has
)

// The compiler does not check tags, so every field of every input is checked here.
func TestEveryOperationIsDescribed(t *testing.T) {
	names, ids := map[string]bool{}, map[string]bool{}
	for _, o := range operation.All() {
		d := o.Describe()
		t.Run(d.Name, func(t *testing.T) {
			if d.Name == "" || names[d.Name] || d.Group == "" || d.Summary == "" || d.Faces == 0 {
				t.Errorf("not described, or twice: %+v", d)
			}
			names[d.Name] = true
			if http := d.Faces&operation.HTTP != 0; http != (d.Route != "") || http != (d.ID != "") || ids[d.ID] && d.ID != "" {
				t.Errorf("route %q and id %q do not fit its faces, or are taken", d.Route, d.ID)
			}
			ids[d.ID] = true
			in := reflect.TypeOf(o.New()).Elem()
			for _, f := range reflect.VisibleFields(in) {
				if !f.Anonymous {
					checkField(t, f)
				}
			}
			for _, f := range faces {
				checkFace(t, o, f)
			}
		})
	}
}

func checkField(t *testing.T, f reflect.StructField) {
	key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if !f.IsExported() || !name.MatchString(key) || options != "" && options != "omitempty" {
		t.Errorf("%s: json tag %q", f.Name, f.Tag.Get("json"))
	}
	if f.Tag.Get("help") == "" {
		t.Errorf("%s has no help", f.Name)
	}
	for _, found := range tagKey.FindAllStringSubmatch(string(f.Tag), -1) {
		if !slices.Contains(tagKeys, found[1]) {
			t.Errorf("%s: unknown tag %s", f.Name, found[1])
		}
	}
}

// checkFace demands that the fields of a face have names of their own, and defaults that are values.
func checkFace(t *testing.T, o operation.Operation, f operation.Face) {
	seen, least := map[string]bool{}, true
	params := operation.Offered(o, f)
	if len(params) > 64 {
		t.Errorf("%d fields; a shape has 64 at most", len(params))
	}
	for _, p := range params {
		if seen[p.Name] || slices.Contains(globals, p.Name) {
			t.Errorf("the name %s is taken", p.Name)
		}
		seen[p.Name] = true
		if p.IsPositional(f) {
			if p.Required(operation.CLI) && !least {
				t.Errorf("%s is required after an argument that is not", p.Name)
			}
			least = least && p.Required(operation.CLI)
		}
	}
	if err := operation.SetDefaults(o, f, o.New()); err != nil {
		t.Errorf("default: %v", err)
	}
	if o.Describe().Faces&f != 0 && o.Answer(f) == nil {
		t.Error("its answer has no type")
	}
}

// An agent may change itself and its subtree, nothing else, through any operation.
func TestNoOperationChangesAForeignAgent(t *testing.T) {
	w := newWorkspace(t)
	own, foreign := w.fork(t, "own"), w.fork(t, "foreign")
	for _, o := range operation.All() {
		d := o.Describe()
		if own := d.OnHome && !d.Persons || o == &operation.Exit; own || d.Effect == operation.Reads {
			continue // the ledger belongs to no agent, and exit ends the caller
		}
		t.Run(o.Describe().Name, func(t *testing.T) {
			in := o.New()
			for _, p := range o.Params() {
				if word := sample(p, foreign); word != "" {
					testkit.OK(t, p.Set(in, word))
				}
			}
			if gc, ok := in.(*operation.GCInput); ok {
				gc.Worktrees = true // blobs that no message names are of no agent
			}
			ctx := operation.Caller{Agent: own}.Context(t.Context())
			if _, err := operation.Within(w.Workspace).Call(ctx, o, in); !fault.Is(err, fault.Denied) {
				t.Errorf("%+v: %v", in, err)
			}
		})
	}
}

// sample returns a word for a field that names an agent, is required, or is positional.
func sample(p operation.Param, foreign id.Agent) string {
	switch {
	case p.Type == reflect.TypeFor[operation.AgentRef]():
		return string(foreign)
	case !p.Required(operation.CLI) && !p.IsPositional(operation.CLI):
		return ""
	case p.Type == reflect.TypeFor[operation.Mode]():
		return "ask"
	case p.Words() != nil:
		return p.Words()[0]
	case p.Type.Kind() == reflect.String:
		return "word"
	}
	return "1"
}

type workspace struct{ *session.Workspace }

func newWorkspace(t *testing.T) workspace {
	t.Helper()
	home := t.TempDir()
	db := filepath.Join(home, "ramet.db")
	s := testkit.Must(sqlite.Open(t.Context(), db, sqlite.Options{Cwd: home}))(t)
	t.Cleanup(func() { s.Close() })
	return workspace{&session.Workspace{Store: store.Clean(s, nil), Peers: control.At(home, db), Config: &config.Config{}, Now: time.Now}}
}

func (w workspace) fork(t *testing.T, name string) id.Agent {
	t.Helper()
	zero := testkit.Must(w.Store.Zero(context.Background()))(t)
	child := registry.Child{ID: id.NewAgent(), Name: name}
	testkit.Must(w.Store.Fork(t.Context(), registry.Fork{Parent: zero.ID, Claim: agent.Passing(), Children: []registry.Child{child}}))(t)
	return child.ID
}

func TestDecode(t *testing.T) {
	const (
		http = operation.HTTP
		mcp  = operation.MCP
	)
	for _, c := range []struct {
		o          operation.Operation
		f          operation.Face
		text, want string // want is the input, or the error
	}{
		{&operation.Send, mcp, `{"to":"ada","text":"hi"}`, `{"to":"ada","text":"hi","from":"you"}`},
		{&operation.Send, mcp, `{"to":"ada","body":"hi"}`, `{"to":"ada","text":"hi","from":"you"}`},
		{&operation.Send, mcp, `{"to":"ada","body":"hi","text":"ho"}`, "body: body and text are the same field"},
		{&operation.Send, mcp, `{"to":"ada","txt":"hi"}`, `txt: send has no field "txt" (text)`},
		{&operation.Send, mcp, `{"to":7,"text":"hi"}`, `{"to":"7","text":"hi","from":"you"}`},
		{&operation.Send, http, `{"text":7}`, "text: text must be a string"},
		{&operation.Send, http, `[]`, ": must be an object"},
		{&operation.Fork, mcp, `{"agent":"bob"}`, `{"agent":"bob","start":"task"}`},
		{&operation.Fork, mcp, `{"role":"rev","clean":true,"worktree":true}`, `{"role":"rev","worktree":true,"clean":true,"start":"task"}`},
		{&operation.Fork, http, `{"agent":"rev","at":0,"name":"","prompt":null}`, `{"role":"rev","start":"turn","state":true}`},
		{&operation.Fork, http, `{"at":-1}`, "at: at must be from 1 to 9007199254740991"},
		{&operation.Fork, mcp, `{"start":"soon"}`, "start: start must be one of later, turn, task"},
		{&operation.Ps, mcp, ``, `{}`},
	} {
		in := c.o.New()
		var path []string
		if c.f == http { // as their routes have it
			path = []string{"agent", "to"}
		}
		got := ""
		if err := operation.Decode(c.o, c.f, []byte(c.text), in, path...); err != nil {
			e, ok := errors.AsType[*operation.FieldError](err)
			if !ok {
				t.Fatalf("%s: %v", c.text, err)
			}
			got = e.Field + ": " + e.Fault.Message
			if e.Suggestion != "" {
				got += " (" + e.Suggestion + ")"
			}
		} else {
			b, _ := json.Marshal(in)
			got = string(b)
		}
		if got != c.want && (len(got) < len(c.want) || got[:len(c.want)] != c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// A child that is forked with a task has its prompt from its birth, whatever happens next.
func TestAForkedTaskHasItsPrompt(t *testing.T) {
	w := newWorkspace(t)
	in := &operation.ForkInput{}
	testkit.OK(t, operation.Decode(&operation.Fork, operation.MCP, []byte(`{"prompt": "count"}`), in))
	out := testkit.Must(operation.Fork.Call(t.Context(), operation.Within(w.Workspace), *in))(t)
	for e, err := range w.Store.QueryRange(t.Context(), history.Range{Agent: out.Child.ID}, history.Selection{}) {
		testkit.OK(t, err)
		if e.Kind == history.User && e.Content != nil {
			return
		}
	}
	t.Error("no prompt in its history")
}

func TestCleanNeedsAWorktree(t *testing.T) {
	if err := (&operation.ForkInput{Clean: true}).Check(); fault.CodeOf(err) != fault.Usage {
		t.Errorf("clean without a worktree: %v", err)
	}
	testkit.OK(t, (&operation.ForkInput{Clean: true, Worktree: true}).Check())
}
