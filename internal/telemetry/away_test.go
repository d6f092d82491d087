package telemetry_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/telemetry"
)

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
