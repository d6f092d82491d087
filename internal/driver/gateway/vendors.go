package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// vendor is what is known of the endpoints that programs ask.
type vendor struct {
	upstream string
	plain    []string   // paths that cost nothing; * matches one part of a path
	metered  []endpoint // paths of model calls
	key      string     // the header of keys
	broke    refusal    // what it answers to who has no money; zero: 403
	// other is another address of the vendor, for requests of some logins, and what is asked before
	// the paths that it has; nil: there is none.
	other  func(http.Header) (address, strip string)
	nested string // the object of a request that holds the limits of its output, if it is not the request itself
	says   func(status int, code, message string) any
}

// endpoint is a path of model calls.
type endpoint struct {
	path string // * matches one part
	// limits lists the members of a request that this path obeys as a limit of its output, the usual one
	// first. A member that another path obeys is ignored here by the vendor, and so by us. If it is empty,
	// no member limits the output.
	limits []string
}

// refusal is a status and the vendor's word for it.
type refusal struct {
	status int
	code   string
}

// request holds the members of a call that decide its cost. A request that names one of them twice is
// refused, because vendors differ in which of the two they obey.
type request struct {
	Model         string `json:"model"`
	MaxTokens     int64  `json:"max_tokens"`
	MaxOutput     int64  `json:"max_output_tokens"`
	MaxCompletion int64  `json:"max_completion_tokens"`
	Choices       int64  `json:"n"`
	Config        struct {
		MaxOutput  int64 `json:"maxOutputTokens"`
		Candidates int64 `json:"candidateCount"`
		// Google also accepts these spellings.
		OtherMaxOutput  jsontext.Value `json:"max_output_tokens"`
		OtherCandidates jsontext.Value `json:"candidate_count"`
	} `json:"generationConfig"`
	// The vendor keeps these and reads them again with the request.
	Previous     string         `json:"previous_response_id"`
	Conversation jsontext.Value `json:"conversation"`
	Cached       string         `json:"cachedContent"`
	// And these.
	OtherConfig jsontext.Value `json:"generation_config"`
	OtherCached jsontext.Value `json:"cached_content"`
}

// limit returns the largest of the limits that the members with these names set, or 0 if none does.
func (q request) limit(names []string) int64 {
	var most int64
	for _, name := range names {
		switch name {
		case "max_tokens":
			most = max(most, q.MaxTokens)
		case "max_output_tokens":
			most = max(most, q.MaxOutput)
		case "max_completion_tokens":
			most = max(most, q.MaxCompletion)
		case "maxOutputTokens":
			most = max(most, q.Config.MaxOutput)
		}
	}
	return most
}

// check refuses a request whose limits cannot be read with certainty.
func (q request) check() error {
	for _, other := range []jsontext.Value{q.OtherConfig, q.OtherCached, q.Config.OtherMaxOutput, q.Config.OtherCandidates} {
		if len(other) > 0 {
			return errors.New("spell members as in generationConfig, not as in generation_config")
		}
	}
	return nil
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

var vendors = map[string]vendor{
	"anthropic": {upstream: "https://api.anthropic.com", key: "X-Api-Key", broke: refusal{http.StatusPaymentRequired, "billing_error"},
		plain:   []string{"GET /v1/models", "GET /v1/models/*", "POST /v1/messages/count_tokens"},
		metered: []endpoint{{"POST /v1/messages", []string{"max_tokens"}}},
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
		plain: []string{"GET /v1/models", "GET /v1/models/*"},
		metered: []endpoint{
			{"POST /v1/responses", []string{"max_output_tokens"}},
			{"POST /v1/responses/compact", nil},
			{"POST /v1/chat/completions", []string{"max_completion_tokens", "max_tokens"}},
		},
		says: func(_ int, code, message string) any {
			return map[string]any{"error": map[string]any{"type": code, "code": code, "message": message, "param": nil}}
		}},
	"gemini": {upstream: "https://generativelanguage.googleapis.com", key: "X-Goog-Api-Key",
		plain: []string{"GET /v1beta/models", "GET /v1beta/models/*", "POST /v1beta/models/*:countTokens"},
		metered: []endpoint{
			{"POST /v1beta/models/*:generateContent", []string{"maxOutputTokens"}},
			{"POST /v1beta/models/*:streamGenerateContent", []string{"maxOutputTokens"}},
		},
		nested: "generationConfig",
		says: func(status int, code, message string) any {
			return map[string]any{"error": map[string]any{"code": status, "status": strings.ToUpper(code), "message": message}}
		}},
}

// admits reports whether a request may be passed on; call is the endpoint of a model call, nil if the
// request costs nothing.
func (v vendor) admits(method, rest string) (call *endpoint, ok bool) {
	if rest != path.Clean(rest) || strings.Contains(rest, "..") {
		return nil, false
	}
	for _, p := range v.plain {
		if matches(p, method, rest) {
			return nil, true
		}
	}
	for _, e := range v.metered {
		if matches(e.path, method, rest) {
			return &e, true
		}
	}
	return nil, false
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
		v = vendors["openai"]
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
	v, rest := vendors[p.vendor], p.rest
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
