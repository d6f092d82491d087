package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/late"
)

// vendor is what is known of the endpoints that programs ask.
type vendor struct {
	upstream string
	// plain are paths that cost nothing, metered those of calls; * is one part of a path.
	plain, metered []string
	key            string  // the header of keys
	broke          refusal // what it answers to who has no money; zero: 403
	// other is another address of the vendor, for requests of some logins, and what is asked before
	// the paths that it has; nil: there is none.
	other func(http.Header) (address, strip string)
	// most are the members of a request that say how much may be written, the usual one first; nested
	// is the object that they stand in, if not the request.
	most   []string
	nested string
	// limit is where a request says how much may be written.
	limit func(body request) int64
	says  func(status int, code, message string) any
}

// refusal is a status and the vendor's word for it.
type refusal struct {
	status int
	code   string
}

// request is what is read of a call. A name that stands twice is refused: nobody knows which of them a
// vendor would take.
type request struct {
	Model         string `json:"model"`
	MaxTokens     int64  `json:"max_tokens"`
	MaxOutput     int64  `json:"max_output_tokens"`
	MaxCompletion int64  `json:"max_completion_tokens"`
	Choices       int64  `json:"n"`
	Config        struct {
		MaxOutput  int64 `json:"maxOutputTokens"`
		Candidates int64 `json:"candidateCount"`
	} `json:"generationConfig"`
	// What the vendor keeps, and reads again with the request.
	Previous     string         `json:"previous_response_id"`
	Conversation jsontext.Value `json:"conversation"`
	Cached       string         `json:"cachedContent"`
}

// answers is how often an answer is written, each as long as one may be.
func (q request) answers() int64 {
	return min(max(1, q.Choices, q.Config.Candidates), mostAnswers)
}

// continues says whether the vendor reads more than the request holds.
func (q request) continues() bool {
	return q.Previous != "" || q.Cached != "" || len(q.Conversation) > 0 && string(q.Conversation) != "null"
}

// usualOutput is the most that a model writes where the request does not say, and no table does.
const usualOutput = 128_000

var vendors = late.Value[map[string]vendor]{Make: func() map[string]vendor {
	return map[string]vendor{
		"anthropic": {upstream: "https://api.anthropic.com", key: "X-Api-Key", broke: refusal{http.StatusPaymentRequired, "billing_error"},
			plain:   []string{"GET /v1/models", "GET /v1/models/*", "POST /v1/messages/count_tokens"},
			metered: []string{"POST /v1/messages"},
			most:    []string{"max_tokens"},
			limit:   func(r request) int64 { return r.MaxTokens },
			says: func(_ int, code, message string) any {
				return map[string]any{"type": "error", "error": map[string]any{"type": code, "message": message}}
			}},
		"openai": {upstream: "https://api.openai.com", key: "Authorization",
			other: func(h http.Header) (string, string) {
				if h.Get("Chatgpt-Account-Id") != "" { // a subscription's login, which the API does not know
					return "https://chatgpt.com/backend-api/codex", "/v1"
				}
				return "", ""
			},
			plain:   []string{"GET /v1/models", "GET /v1/models/*"},
			metered: []string{"POST /v1/responses", "POST /v1/responses/compact", "POST /v1/chat/completions"},
			most:    []string{"max_output_tokens"},
			limit:   func(r request) int64 { return max(r.MaxOutput, r.MaxCompletion, r.MaxTokens) },
			says: func(_ int, code, message string) any {
				return map[string]any{"error": map[string]any{"type": code, "code": code, "message": message, "param": nil}}
			}},
		"gemini": {upstream: "https://generativelanguage.googleapis.com", key: "X-Goog-Api-Key",
			plain:   []string{"GET /v1beta/models", "GET /v1beta/models/*", "POST /v1beta/models/*:countTokens"},
			metered: []string{"POST /v1beta/models/*:generateContent", "POST /v1beta/models/*:streamGenerateContent"},
			most:    []string{"maxOutputTokens"}, nested: "generationConfig",
			limit: func(r request) int64 { return r.Config.MaxOutput },
			says: func(status int, code, message string) any {
				return map[string]any{"error": map[string]any{"code": status, "status": strings.ToUpper(code), "message": message}}
			}},
	}
}}

// admits says whether a request may go on, and whether it is a call of a model.
func (v vendor) admits(method, rest string) (ok, metered bool) {
	if rest != path.Clean(rest) || strings.Contains(rest, "..") {
		return false, false
	}
	for _, p := range v.plain {
		if matches(p, method, rest) {
			return true, false
		}
	}
	for _, p := range v.metered {
		if matches(p, method, rest) {
			return true, true
		}
	}
	return false, false
}

func matches(pattern, method, rest string) bool {
	ok, err := path.Match(pattern, method+" "+rest)
	return ok && err == nil
}

// model is which one is asked: the body says it, or the path.
func (v vendor) model(r request, rest string) string {
	if r.Model != "" {
		return r.Model
	}
	_, name, _ := strings.Cut(rest, "/models/")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// refuse answers in the vendor's own form, with a status that programs do not ask again for.
func (v vendor) refuse(w http.ResponseWriter, status int, code, message string) {
	if v.says == nil {
		v = vendors.Get()["openai"]
	}
	text, err := json.Marshal(v.says(status, code, message))
	if err != nil {
		panic(err) // strings alone
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // whoever does not take it has gone
}

// unreached tells a program that its vendor is not there.
func (v vendor) unreached(w http.ResponseWriter, name string) {
	v.refuse(w, http.StatusBadGateway, "api_error", "the vendor cannot be reached: "+name)
}

// lend puts a key of ours in the place of whatever a program sends.
func (v vendor) lend(h http.Header, key string) {
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		h.Del(name)
	}
	if v.key == "Authorization" {
		key = "Bearer " + key
	}
	h.Set(v.key, key)
}

// address is where a request goes: to the address that the program's user gave, the gate's, or the
// vendor's own.
func (g *Gate) address(r *http.Request, p passage) (*url.URL, error) {
	v, rest := vendors.Get()[p.vendor], p.rest
	var at url.URL
	switch to, own := p.door.Upstream[p.vendor], g.o.Upstream[p.vendor]; {
	case to.URL != nil:
		at, rest = *to.URL, strings.TrimPrefix(rest, to.Strip)
	case own != nil:
		at = *own
	default:
		text, strip := v.upstream, ""
		if v.other != nil {
			if other, cut := v.other(r.Header); other != "" {
				text, strip = other, cut
			}
		}
		to, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		at, rest = *to, strings.TrimPrefix(rest, strip)
	}
	at.Path, at.RawQuery = strings.TrimSuffix(at.Path, "/")+rest, r.URL.RawQuery
	return &at, nil
}
