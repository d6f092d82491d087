package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"ramet/internal/base/id"
)

// nameless says who asked.
type nameless struct{}

func (nameless) ServeMCP(w http.ResponseWriter, _ *http.Request, by id.Agent) {
	send(w, http.StatusOK, "application/json", []byte(`{"by":"`+string(by)+`"}`))
}

func init() {
	furnishings = append(furnishings, func(testing.TB) func(*siteOptions) { return func(o *siteOptions) { o.MCP = nameless{} } })
	samples["POST /mcp"] = func(*testing.T, *site) []sample { return nil } // see below, and the real clients of internal/app
}

// The token of an agent opens /mcp alone, as that agent; one that was changed opens nothing.
func TestTheTokenOfAnAgentOpensOneRoute(t *testing.T) {
	s := start(t, func(o *siteOptions) { o.MCP = nameless{} })
	who := id.NewAgent()
	token := s.o.Token.For(who)
	show := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	if got := s.ask(t, "POST", "/mcp", "{}", show(token)); got.status != 200 || !strings.Contains(string(got.body), string(who)) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.ask(t, "POST", "/mcp", "{}"); got.status != 200 || string(got.body) != `{"by":""}` {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, r := range s.table {
		if r.Access != Processes && r.Access != Public {
			s.ask(t, r.Method, somewhere(r), body(r), show(token)).refused(t, 401, "UNAUTHENTICATED")
		}
	}
	s.ask(t, "GET", "/no/such", nil, show(token)).refused(t, 401, "UNAUTHENTICATED")
	_, stamp, _ := strings.Cut(strings.TrimPrefix(token, "ramet-agent."), ".")
	for _, wrong := range []string{token[:len(token)-1], token + "0", "ramet-agent." + string(id.NewAgent()) + "." + stamp,
		"ramet-agent." + string(who) + ".", "ramet-agent." + "." + stamp, strings.TrimPrefix(token, "ramet-agent."), strings.ToUpper(token)} {
		s.ask(t, "POST", "/mcp", "{}", show(wrong)).refused(t, 401, "UNAUTHENTICATED")
	}
}
