package httpapi

import (
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/registry"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
)

// Who knows the agents reads only those that changed, dead or not.
func TestSomeAgentsAreListed(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	ada, bob := f.child(t, f.zero.ID, "ada"), f.child(t, f.zero.ID, "bob")
	f.child(t, f.zero.ID, "eve")
	testkit.Must(f.Kernel.Kill(t.Context(), registry.Kill{Agent: bob, Reason: "enough"}))(t)
	s.good(t, "POST", "/api/v1/agents/ada/send", map[string]string{"body": "a letter"}, 201, nil)
	var all, some public.AgentList
	s.good(t, "GET", "/api/v1/agents?all=1", nil, 200, &all)
	s.good(t, "GET", "/api/v1/agents?of="+string(bob)+",nobody,"+string(ada), nil, 200, &some)
	if len(all.Agents) != 4 || len(some.Agents) != 2 {
		t.Fatalf("%d of %d", len(some.Agents), len(all.Agents))
	}
	for _, one := range some.Agents {
		same := slices.IndexFunc(all.Agents, func(a AgentNow) bool { return a.UUID == one.UUID })
		if same < 0 || all.Agents[same].Status != one.Status || all.Agents[same].UnreadMail != one.UnreadMail || (all.Agents[same].State == nil) != (one.State == nil) {
			t.Errorf("%+v is listed as %+v", all.Agents[same], one)
		}
	}
	many := strings.Repeat(string(id.NewAgent())+",", 200) + string(ada)
	s.ask(t, "GET", "/api/v1/agents?of="+many, nil).refused(t, 400, "USAGE")
}
