package kernel

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver/gateway"
	"ramet/internal/testkit"
)

// A program's calls through the kernel's gateway are in its agent's history and count in its
// budget; a kill ends them.
func TestProgramsSpendThroughTheGateway(t *testing.T) {
	b := newBench(t, `{"repeat": true, "steps": [{"text": "yes"}]}`)
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"type":"message","usage":{"input_tokens":40,"output_tokens":2}}`)
	}))
	t.Cleanup(vendor.Close)
	at := testkit.Must(url.Parse(vendor.URL))(t)
	b.start()
	b.kernel.Vendors = map[string]*url.URL{"anthropic": at} // before the first door
	kid := b.child("kid")
	door := testkit.Must(b.kernel.Door(t.Context(), gateway.Way{Agent: kid.ID, Driver: "test"}))(t)
	base, _ := door.Base("anthropic")
	call := func() int {
		t.Helper()
		answer := testkit.Must(http.Post(base+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","max_tokens":100}`)))(t)
		defer answer.Body.Close()
		io.Copy(io.Discard, answer.Body)
		return answer.StatusCode
	}
	if status := call(); status != 200 {
		t.Fatal(status)
	}
	// The entry is written when the answer is over; what follows comes behind it.
	testkit.WaitUntil(t, "the call is counted", func() bool {
		a := testkit.Must(b.store.Agent(t.Context(), kid.ID))(t)
		return a.Spent.Tokens == 42
	})
	limit := int64(100)
	testkit.Must(b.store.Append(t.Context(), b.zero.ID, agent.Passing(), history.Draft{Kind: history.Command, Meta: history.Meta{Command: "budget", Budget: &history.Budget{Tokens: &limit}}}))(t)
	if status := call(); status != 402 {
		t.Errorf("more than the budget of its parent: %d", status)
	}
	testkit.Must(b.kernel.Kill(t.Context(), registry.Kill{Agent: kid.ID}))(t)
	if status := call(); status != 404 {
		t.Errorf("after the kill: %d", status)
	}
	if _, err := b.kernel.Door(t.Context(), gateway.Way{Agent: kid.ID, Driver: "test"}); !fault.Is(err, fault.DeadAgent) {
		t.Errorf("a door for the dead: %v", err)
	}
}
