package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/turn/loop"
)

// The samples of agents (see openapi_test.go) share one floor and come in the order of
// the table.
func init() {
	furnishings = append(furnishings, func(t testing.TB) func(*siteOptions) {
		f := newFloor(t, `
{"when": "permit me", "steps": [{"call": "bash", "args": {"command": "rm -rf old"}}]}
{"repeat": true, "steps": [{"text": "yes"}]}
`)
		f.project(t)
		return func(o *siteOptions) { o.Agents = f.Agents }
	})
	const zero = "/api/v1/agents/0"
	for name, give := range map[string]func(*testing.T, *site) []sample{
		"GET /api/v1/home": func(*testing.T, *site) []sample { return []sample{{"/api/v1/home", nil, 200}} },
		"GET /api/v1/lineage": func(t *testing.T, s *site) []sample {
			s.good(t, "POST", "/api/v1/agents/0/send", map[string]string{"body": "dear"}, 201, nil)
			return []sample{{"/api/v1/lineage", nil, 200}}
		},
		"GET /api/v1/search": func(*testing.T, *site) []sample {
			return []sample{{"/api/v1/search?q=a", nil, 200}, {"/api/v1/search?q=a&agent=0&limit=3", nil, 200}, {"/api/v1/search", nil, 400}}
		},
		"GET /api/v1/agents": func(t *testing.T, s *site) []sample {
			s.prompted(t, strings.Repeat("long ", 4000), loop.TurnEnded)
			return []sample{{"/api/v1/agents?all=1", nil, 200}}
		},
		"GET /api/v1/agents/{ref}": func(*testing.T, *site) []sample {
			return []sample{{zero, nil, 200}, {"/api/v1/agents/nobody", nil, 404}}
		},
		"GET /api/v1/agents/{ref}/messages": func(*testing.T, *site) []sample {
			return []sample{{zero + "/messages?own=1&limit=2", nil, 200}, {zero + "/messages?limit=1000", nil, 200}, {zero + "/messages?after=x", nil, 400}}
		},
		"GET /api/v1/agents/{ref}/messages/{message}/parts/{part}": func(t *testing.T, s *site) []sample {
			var page struct {
				Messages []struct {
					ID   int64
					Kind string
				}
			}
			s.good(t, "GET", zero+"/messages?own=1", nil, 200, &page)
			for _, m := range page.Messages {
				if m.Kind == "user" {
					return []sample{{zero + "/messages/" + fmt.Sprint(m.ID) + "/parts/0", nil, 200}, {zero + "/messages/" + fmt.Sprint(m.ID) + "/parts/9", nil, 404}}
				}
			}
			t.Fatalf("no message of the user: %+v", page)
			return nil
		},
		"GET /api/v1/agents/{ref}/mail": sampleAt(zero + "/mail"),
		"POST /api/v1/agents/{ref}/prompt": func(*testing.T, *site) []sample {
			return []sample{{zero + "/prompt", promptBody{Text: "hello"}, 202}}
		},
		"POST /api/v1/agents/{ref}/fork": func(*testing.T, *site) []sample {
			return []sample{{zero + "/fork", map[string]string{"name": "victim"}, 201}, {zero + "/fork", map[string]string{"name": "victim"}, 409}}
		},
		"GET /api/v1/agents/{ref}/kill-preview": sampleAt("/api/v1/agents/victim/kill-preview"),
		"POST /api/v1/agents/{ref}/kill": func(*testing.T, *site) []sample {
			return []sample{{"/api/v1/agents/victim/kill", map[string]int{"confirm": 5}, 409}, {"/api/v1/agents/victim/kill", map[string]int{"confirm": 1}, 200}}
		},
		"POST /api/v1/agents/{ref}/interrupt": func(*testing.T, *site) []sample { return []sample{{zero + "/interrupt", "{}", 200}} },
		"POST /api/v1/agents/{ref}/send": func(*testing.T, *site) []sample {
			return []sample{{zero + "/send", map[string]string{"text": "hi"}, 201}}
		},
		"GET /api/v1/agents/{ref}/mode": sampleAt(zero + "/mode"),
		"POST /api/v1/agents/{ref}/mode": func(*testing.T, *site) []sample {
			mode := func(word string) map[string]string { return map[string]string{"mode": word} }
			return []sample{{zero + "/mode", mode("ask"), 200}, {zero + "/mode", mode("anything"), 422}, {zero + "/mode", mode(""), 422}, {"/api/v1/agents/nobody/mode", mode("ask"), 404}}
		},
		"GET /api/v1/events": func(*testing.T, *site) []sample { return nil }, // see sse_test.go
		"GET /api/v1/permissions": func(t *testing.T, s *site) []sample {
			s.prompted(t, "permit me", loop.Asking)
			return []sample{{"/api/v1/permissions", nil, 200}}
		},
		"POST /api/v1/permissions/{id}": func(t *testing.T, s *site) []sample {
			var list AskList
			s.good(t, "GET", "/api/v1/permissions", nil, 200, &list)
			if len(list.Asks) != 1 {
				t.Fatalf("%+v", list)
			}
			return []sample{{"/api/v1/permissions/" + list.Asks[0].ID, AnswerInput{Answer: "deny"}, 204},
				{"/api/v1/permissions/none", AnswerInput{Answer: "deny"}, 404}}
		},
	} {
		samples[name] = give
	}
}

// prompted says something to agent 0 and waits for what comes of it.
func (s *site) prompted(t *testing.T, text string, what loop.EventType) {
	t.Helper()
	var zero AgentNow
	s.good(t, "GET", "/api/v1/agents/0", nil, 200, &zero)
	w := s.watch(t, "", "")
	defer w.close()
	s.good(t, "POST", "/api/v1/agents/0/prompt", promptBody{Text: text}, 202, nil)
	w.until(isType(what, zero.UUID))
}
