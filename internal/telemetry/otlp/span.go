package otlp

import (
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ramet/internal/telemetry"
)

// span is a span that has ended.
type span struct {
	trace, id, parent []byte
	name              string
	client            bool // else it is internal
	start, end        time.Time
	attributes        []attribute
	status            int // 0: not said, 1: ok, 2: error
	message           string
}

// attribute has a string, bool, int64, float64 or []string.
type attribute struct {
	key   string
	value any
}

// about holds the members of a record's objects.
type about struct {
	TraceID      string   `json:"trace_id"`
	SpanID       string   `json:"span_id"`
	ParentSpanID string   `json:"parent_span_id"`
	State        string   `json:"state"`
	Scope        string   `json:"scope_key"`
	Attempt      *int64   `json:"attempt"`
	CallID       string   `json:"call_id"`
	Model        string   `json:"model"`
	BaseURL      string   `json:"provider_base_url"`
	Provider     string   `json:"provider"` // the vendor, wherever its model is asked
	Temperature  *float64 `json:"temperature"`
	MaxTokens    *int64   `json:"max_tokens"`
	Cached       bool     `json:"cached"`
	Agent        string   `json:"agent_uuid"`

	Input        *int64   `json:"input_tokens"`
	Output       *int64   `json:"output_tokens"`
	CacheRead    *int64   `json:"cache_read_tokens"`
	CacheWrite   *int64   `json:"cache_write_tokens"`
	Cost         *float64 `json:"api_cost_usd"`
	FinishReason string   `json:"finish_reason"`
	ErrorClass   string   `json:"error_class"`
	HTTPStatus   *int64   `json:"http_status"`
}

// spanOf returns the span of a record; not ok if it has no ids, or has not ended.
func spanOf(r telemetry.Record) (span, bool) {
	var a about
	json.Unmarshal(r.Context, &a) // what does not fit is left out
	json.Unmarshal(r.Metrics, &a)
	s := span{start: r.StartTime, name: r.RunID}
	var ok bool
	if s.trace, ok = bytesOf(a.TraceID, 16); !ok || r.EndTime == nil {
		return s, false
	}
	if s.id, ok = bytesOf(a.SpanID, 8); !ok {
		return s, false
	}
	if parent, ok := bytesOf(a.ParentSpanID, 8); ok {
		s.parent = parent
	}
	s.end = *r.EndTime
	switch r.JobType {
	case telemetry.LLMCall:
		s.call(a)
	case telemetry.Worker:
		s.name = "invoke_agent " + r.AgentName
		s.add("gen_ai.operation.name", "invoke_agent")
		s.add("gen_ai.agent.name", r.AgentName)
		s.text("gen_ai.agent.id", a.Agent)
		s.text("ramet.scope", a.Scope)
		s.number("ramet.attempt", a.Attempt)
	case telemetry.Node:
		s.name = "state " + a.State
		s.text("ramet.state", a.State)
	case telemetry.Gate:
		s.name = "gate " + r.AgentName
		s.add("ramet.gate", r.AgentName)
	case telemetry.Launch:
		s.name = strings.TrimSpace("launch " + r.Product)
		s.text("ramet.recipe", r.Product)
	}
	s.add("ramet.run_id", r.RunID)
	s.add("ramet.job_type", string(r.JobType))
	s.add("ramet.status", string(r.Status))
	s.ended(r, a)
	return s, true
}

// call adds the attributes of the conventions for generative AI.
func (s *span) call(a about) {
	s.client = true
	provider, model := providerOf(a)
	s.name = strings.TrimSpace("chat " + model)
	s.add("gen_ai.operation.name", "chat")
	s.text("gen_ai.provider.name", provider)
	s.text("gen_ai.system", provider) // its name until 2025
	s.text("gen_ai.request.model", model)
	if a.Temperature != nil {
		s.add("gen_ai.request.temperature", *a.Temperature)
	}
	s.number("gen_ai.request.max_tokens", a.MaxTokens)
	s.number("gen_ai.usage.input_tokens", a.Input)
	s.number("gen_ai.usage.output_tokens", a.Output)
	s.number("gen_ai.usage.cache_read.input_tokens", a.CacheRead)
	s.number("gen_ai.usage.cache_creation.input_tokens", a.CacheWrite)
	if a.FinishReason != "" {
		s.add("gen_ai.response.finish_reasons", []string{a.FinishReason})
	}
	if u, err := url.Parse(a.BaseURL); err == nil && u.Hostname() != "" {
		s.add("server.address", u.Hostname())
		if port, err := strconv.ParseInt(u.Port(), 10, 32); err == nil {
			s.add("server.port", port)
		}
	}
	s.number("http.response.status_code", a.HTTPStatus)
	s.text("ramet.call_id", a.CallID)
	if a.Cost != nil {
		s.add("ramet.cost_usd", *a.Cost)
	}
	if a.Cached {
		s.add("ramet.cached", true)
	}
}

// providers are the names that the conventions have for hosts.
var providers = map[string]string{"api.anthropic.com": "anthropic", "api.openai.com": "openai", "generativelanguage.googleapis.com": "gcp.gemini",
	"api.mistral.ai": "mistral_ai", "api.deepseek.com": "deepseek", "api.groq.com": "groq", "api.x.ai": "x_ai", "api.cohere.com": "cohere",
	"api.perplexity.ai": "perplexity"}

// providerOf returns the provider of the model, and its name there. A model may be vendor/name; else the address
// names the provider.
func providerOf(a about) (provider, model string) {
	u, err := url.Parse(a.BaseURL)
	switch {
	case err != nil:
	case u.Hostname() != "":
		provider = providers[u.Hostname()]
	default:
		provider = u.Scheme
	}
	vendor, name, ok := strings.Cut(a.Model, "/")
	if provider == "" {
		provider = a.Provider
	}
	if a.Agent == "" || !ok { // of a run: as it was asked for
		if provider == "" && err == nil {
			provider = u.Hostname()
		}
		return provider, a.Model
	}
	if provider == "" {
		provider = vendor
	}
	return provider, name
}

// ended sets the status and the error of the span.
func (s *span) ended(r telemetry.Record, a about) {
	switch r.Status {
	case telemetry.Success:
		s.status = 1
		return
	case telemetry.Partial:
		return
	}
	s.status, s.message = 2, r.ErrorSummary
	kind := a.ErrorClass
	if kind == "" {
		kind, _, _ = strings.Cut(r.ErrorSummary, ":")
	}
	if kind == "" || strings.ContainsAny(kind, " \n") {
		kind = string(r.Status)
	}
	s.add("error.type", kind)
}

func (s *span) add(key string, value any) { s.attributes = append(s.attributes, attribute{key, value}) }

func (s *span) text(key, value string) {
	if value != "" {
		s.add(key, value)
	}
}

func (s *span) number(key string, value *int64) {
	if value != nil {
		s.add(key, *value)
	}
}

// bytesOf reads an id; zero is none.
func bytesOf(s string, n int) ([]byte, bool) {
	b, err := hex.DecodeString(s)
	return b, err == nil && len(b) == n && strings.Trim(s, "0") != ""
}
