package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// vendor is what is known of the endpoints that programs ask.
type vendor struct {
	upstream string
	// plain are paths that cost nothing, metered those of calls; * is one part of a path.
	plain, metered []string
	// limit is where a request says how much may be written.
	limit   func(body request) int64
	refusal func(status int, code, message string) any
}

// request is what is read of a call.
type request struct {
	Model         string
	MaxTokens     int64 `json:"max_tokens"`
	MaxOutput     int64 `json:"max_output_tokens"`
	MaxCompletion int64 `json:"max_completion_tokens"`
	Config        struct {
		MaxOutput int64 `json:"maxOutputTokens"`
	} `json:"generationConfig"`
}

// usualOutput is the most that a model writes where the request does not say, and no table does.
const usualOutput = 128_000

var vendors = map[string]vendor{
	"anthropic": {upstream: "https://api.anthropic.com",
		plain:   []string{"GET /v1/models", "GET /v1/models/*", "POST /v1/messages/count_tokens"},
		metered: []string{"POST /v1/messages"},
		limit:   func(r request) int64 { return r.MaxTokens },
		refusal: func(_ int, code, message string) any {
			return map[string]any{"type": "error", "error": map[string]any{"type": code, "message": message}}
		}},
	"openai": {upstream: "https://api.openai.com",
		plain:   []string{"GET /v1/models", "GET /v1/models/*"},
		metered: []string{"POST /v1/responses", "POST /v1/chat/completions"},
		limit:   func(r request) int64 { return max(r.MaxOutput, r.MaxCompletion, r.MaxTokens) },
		refusal: func(_ int, code, message string) any {
			return map[string]any{"error": map[string]any{"type": code, "code": code, "message": message, "param": nil}}
		}},
	"gemini": {upstream: "https://generativelanguage.googleapis.com",
		plain:   []string{"GET /v1beta/models", "GET /v1beta/models/*", "POST /v1beta/models/*:countTokens"},
		metered: []string{"POST /v1beta/models/*:generateContent", "POST /v1beta/models/*:streamGenerateContent"},
		limit:   func(r request) int64 { return r.Config.MaxOutput },
		refusal: func(status int, code, message string) any {
			return map[string]any{"error": map[string]any{"code": status, "status": strings.ToUpper(code), "message": message}}
		}},
}

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
	if v.refusal == nil {
		v = vendors["openai"]
	}
	text, err := json.Marshal(v.refusal(status, code, message))
	if err != nil {
		panic(err) // strings alone
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // whoever does not take it has gone
}

// address is where a vendor is.
func (g *Gate) address(name string) (*url.URL, error) {
	if to := g.o.Upstream[name]; to != nil {
		return to, nil
	}
	return url.Parse(vendors[name].upstream)
}
