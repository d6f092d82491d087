package telemetry_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

// scene is a real workspace that is followed.
type scene struct {
	t     *testing.T
	store *store.Store
	path  string
	runs  map[id.Agent]bool
}

func newScene(t *testing.T) *scene {
	ws := testkit.Must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ramet.db"), sqlite.Options{Cwd: "/"}))(t)
	t.Cleanup(func() { ws.Close() })
	return &scene{t, ws, filepath.Join(t.TempDir(), "cursor"), map[id.Agent]bool{}}
}

func (s *scene) zero() id.Agent {
	z := testkit.Must(s.store.Zero(s.t.Context()))(s.t)
	return z.ID
}

func (s *scene) say(a id.Agent, text string) {
	d := testkit.Must(history.Say(history.User, text))(s.t)
	s.append(a, d)
}

func (s *scene) used(a id.Agent, outcome string) {
	s.append(a, history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &history.Call{Model: "offline/offline", Outcome: outcome, Input: 3, Output: 4, TookMS: 5, Priced: true}}})
}

func (s *scene) append(a id.Agent, drafts ...history.Draft) {
	testkit.Must(s.store.Append(s.t.Context(), a, agent.Passing(), drafts...))(s.t)
}

// told is a delivery as far as it is looked at.
type told struct {
	method                       string
	JobType, Status, ParentRunID string
}

// follow keeps the turnlog until so many deliveries came.
func (s *scene) follow(n int) []told {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	var mu sync.Mutex
	var out []told
	enough := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- telemetry.KeepTurnlog(ctx, telemetry.TurnlogOptions{Feed: s.store, Agents: s.store, InRun: func(a id.Agent) bool { return s.runs[a] },
			Path: s.path, Look: time.Millisecond, Put: func(all ...telemetry.Delivery) {
				mu.Lock()
				defer mu.Unlock()
				for _, d := range all {
					var body struct {
						JobType string `json:"job_type"`
						Status  string `json:"status"`
						Parent  string `json:"parent_run_id"`
					}
					if err := json.Unmarshal(d.Body, &body); err != nil {
						s.t.Error(err)
					}
					if out = append(out, told{d.Method, body.JobType, body.Status, body.Parent}); len(out) == n {
						close(enough)
					}
				}
			}})
	}()
	select {
	case <-enough:
	case err := <-done:
		s.t.Fatal(err)
	case <-time.After(5 * time.Minute):
		mu.Lock()
		defer mu.Unlock()
		s.t.Fatalf("%d of %d came: %v", len(out), n, out)
	}
	cancel()
	if err := <-done; err != nil {
		s.t.Fatal(err)
	}
	return out
}

func TestATurnIsARecordWithItsCalls(t *testing.T) {
	s := newScene(t)
	s.say(s.zero(), "words that nobody answers")
	s.say(s.zero(), "go")
	s.used(s.zero(), "tool_calls")
	s.used(s.zero(), "stop")
	got := s.follow(4)
	want := []told{{"POST", "worker", "running", ""}, {"POST", "llm_call", "success", got[1].ParentRunID}, {"POST", "llm_call", "success", got[1].ParentRunID}, {"PATCH", "", "success", ""}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, not %+v", i, got[i], want[i])
		}
	}
	if got[1].ParentRunID == "" {
		t.Error("the calls have no parent")
	}
	// Whoever comes next goes on behind it.
	s.say(s.zero(), "again")
	s.used(s.zero(), "PROVIDER_OVERLOADED")
	if again := s.follow(3); again[0].JobType != "worker" || again[2].Status != "failure" {
		t.Errorf("%+v", again)
	}
}

func TestATurnThatIsUnderWayIsFollowedFromItsBeginningAgain(t *testing.T) {
	s := newScene(t)
	s.say(s.zero(), "go")
	s.used(s.zero(), "tool_calls")
	first := s.follow(2)
	s.used(s.zero(), "stop")
	second := s.follow(4)
	if first[0] != second[0] || first[1] != second[1] || second[3].Status != "success" {
		t.Errorf("%+v\n%+v", first, second)
	}
}

func TestAgentsOfRunsAreLeftOut(t *testing.T) {
	s := newScene(t)
	own, worker := id.NewAgent(), id.NewAgent()
	for _, f := range []registry.Fork{{Parent: s.zero(), Children: []registry.Child{{ID: own}}}, {Parent: own, Children: []registry.Child{{ID: worker}}}} {
		testkit.Must(s.store.Fork(t.Context(), f))(t)
	}
	s.runs[own] = true
	s.say(worker, "item")
	s.used(worker, "stop")
	s.say(s.zero(), "go")
	s.used(s.zero(), "stop")
	if got := s.follow(3); len(got) != 3 {
		t.Errorf("%+v", got)
	}
}

func TestCallsOfServersAreRecordsBelowTheirTurn(t *testing.T) {
	s := newScene(t)
	z := s.zero()
	s.say(z, "go")
	s.used(z, "tool_calls")
	result := func(call, memo string) history.Draft {
		return history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: call, Name: "x", Text: "y", Memo: json.RawMessage(memo)}}}
	}
	s.append(z, result("a", `{"mcp":{"server":"files","tool":"read","outcome":"done","took_ms":3}}`), result("b", `{"read":1}`),
		result("c", `{"mcp":{"server":"files","tool":"read","outcome":"unknown","took_ms":3}}`))
	s.used(z, "stop")
	var got []string
	for _, d := range s.follow(6) {
		if d.JobType == "mcp_tool_call" {
			got = append(got, d.method+" "+d.Status)
			if d.ParentRunID == "" {
				t.Error("it has no parent")
			}
		}
	}
	if len(got) != 2 || got[0] != "POST success" || got[1] != "POST failure" {
		t.Errorf("%q", got)
	}
}

// stumbling is a store that is away from time to time, also between a page of the feed and
// what has to be asked about it.
type stumbling struct {
	registry.Feed
	agent.Directory
	asked atomic.Int64
}

var errAway = fault.New(fault.StorageUnreachable, "nobody is there")

func (s *stumbling) Changes(ctx context.Context, after registry.Cursor, limit int) ([]registry.Change, registry.Cursor, error) {
	if s.asked.Add(1)%3 == 0 {
		return nil, after, errAway
	}
	return s.Feed.Changes(ctx, after, limit)
}

func (s *stumbling) Agent(ctx context.Context, a id.Agent) (agent.Agent, error) {
	if s.asked.Add(1)%2 == 0 {
		return agent.Agent{}, errAway
	}
	return s.Directory.Agent(ctx, a)
}

func TestTheTurnlogOutlivesAStoreThatIsAway(t *testing.T) {
	s := newScene(t)
	away := &stumbling{Feed: s.store, Directory: s.store}
	s.say(s.zero(), "go")
	s.used(s.zero(), "tool_calls")
	s.used(s.zero(), "stop")
	ctx, cancel := context.WithCancel(t.Context())
	ids, said := map[string]bool{}, map[string]int{}
	err := telemetry.KeepTurnlog(ctx, telemetry.TurnlogOptions{Feed: away, Agents: away, InRun: func(id.Agent) bool { return false },
		Path: s.path, Look: time.Millisecond, Tell: func(what string) { said[what]++ }, Put: func(all ...telemetry.Delivery) {
			for _, d := range all {
				if d.Method == "PATCH" {
					cancel()
				}
				ids[string(d.Body)] = true
			}
		}})
	if err != nil || len(ids) != 4 { // the turn, two calls, and its end: whatever was told twice is the same
		t.Errorf("%v %v", ids, err)
	}
	if len(said) == 0 {
		t.Error("nobody was told that the store was away")
	}
}

func hooked(event, outcome string) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: "hook", Hook: &history.Hook{Event: event, Program: "check", From: "config.toml", Outcome: outcome, TookMS: 3}}}
}

// A hook is a gate below its turn, also one that ran before the turn began.
func TestAHookIsARecordBelowItsTurn(t *testing.T) {
	s := newScene(t)
	s.append(s.zero(), hooked("UserPromptSubmit", "passed"))
	s.say(s.zero(), "go")
	s.append(s.zero(), hooked("PreToolUse", "objected"))
	s.used(s.zero(), "stop")
	s.append(s.zero(), hooked("Stop", "failed"))
	got := s.follow(6)
	var statuses []string
	for _, one := range got {
		if one.JobType == "gate" {
			statuses = append(statuses, one.Status)
			if one.ParentRunID == "" {
				t.Errorf("%+v has no turn", one)
			}
		}
	}
	if want := []string{"success", "success", "failure"}; !slices.Equal(statuses, want) || got[0].JobType != "worker" {
		t.Errorf("%+v", got)
	}
}
