package otlp

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// scope is the name under which the spans were made.
const scope = "ramet/internal/telemetry"

// message is a message of OTLP. Its fields have a number in protobuf, as in opentelemetry/proto/trace/v1/trace.proto
// and common/v1/common.proto, and a name in JSON.
type message []field

type field struct {
	number protowire.Number
	name   string
	value  any // string, bool, int, int64, float64, spanID, nanos, message or []message
}

type (
	spanID []byte // hex in JSON
	nanos  uint64 // since 1970; text in JSON, as all 64-bit numbers
)

func makeMessage(resource []Attribute, spans []span) message {
	sender, list := []message{}, []message{}
	for _, a := range resource {
		sender = append(sender, attribute{a.Key, a.Value}.fields())
	}
	for _, s := range spans {
		list = append(list, s.fields())
	}
	scoped := message{{1, "scope", message{{1, "name", scope}}}, {2, "spans", list}}
	return message{{1, "resourceSpans", []message{{{1, "resource", message{{1, "attributes", sender}}}, {2, "scopeSpans", []message{scoped}}}}}}
}

func (s span) fields() message {
	m := message{{1, "traceId", spanID(s.trace)}, {2, "spanId", spanID(s.id)}}
	if len(s.parent) > 0 {
		m = append(m, field{4, "parentSpanId", spanID(s.parent)})
	}
	kind := 1 // internal
	if s.client {
		kind = 3
	}
	attributes := []message{}
	for _, a := range s.attributes {
		attributes = append(attributes, a.fields())
	}
	status := message{}
	if s.message != "" {
		status = append(status, field{2, "message", s.message})
	}
	if s.status != 0 {
		status = append(status, field{3, "code", s.status})
	}
	return append(m, field{5, "name", s.name}, field{6, "kind", kind}, field{7, "startTimeUnixNano", unixNano(s.start)},
		field{8, "endTimeUnixNano", unixNano(s.end)}, field{9, "attributes", attributes}, field{15, "status", status})
}

func unixNano(t time.Time) nanos { return nanos(max(0, t.UnixNano())) }

func (a attribute) fields() message {
	return message{{1, "key", a.key}, {2, "value", message{anyValue(a.value)}}}
}

// anyValue returns the field of an AnyValue.
func anyValue(v any) field {
	switch v := v.(type) {
	case bool:
		return field{2, "boolValue", v}
	case int64:
		return field{3, "intValue", v}
	case float64:
		return field{4, "doubleValue", v}
	case []string:
		list := []message{}
		for _, s := range v {
			list = append(list, message{anyValue(s)})
		}
		return field{5, "arrayValue", message{{1, "values", list}}}
	}
	return field{1, "stringValue", v}
}

func (m message) appendProto(b []byte) []byte {
	for _, f := range m {
		switch v := f.value.(type) {
		case []message:
			for _, one := range v {
				b = appendBytes(b, f.number, one.appendProto(nil))
			}
		case message:
			b = appendBytes(b, f.number, v.appendProto(nil))
		case spanID:
			b = appendBytes(b, f.number, v)
		case string:
			b = appendBytes(b, f.number, []byte(v))
		case nanos:
			b = appendFixed(b, f.number, uint64(v))
		case float64:
			b = appendFixed(b, f.number, math.Float64bits(v))
		case int:
			b = appendVarint(b, f.number, uint64(v))
		case int64:
			b = appendVarint(b, f.number, uint64(v))
		case bool:
			b = appendVarint(b, f.number, protowire.EncodeBool(v))
		}
	}
	return b
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendFixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// MarshalJSON returns the message as OTLP's JSON.
func (m message) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for _, f := range m {
		switch v := f.value.(type) {
		case spanID:
			out[f.name] = hex.EncodeToString(v)
		case nanos:
			out[f.name] = strconv.FormatUint(uint64(v), 10)
		case int64:
			out[f.name] = strconv.FormatInt(v, 10)
		default:
			out[f.name] = v
		}
	}
	return json.Marshal(out)
}

// rejected reads the number of spans that a collector rejected from a protobuf answer.
func rejected(answer []byte) int64 {
	inner, _ := protowire.ConsumeBytes(lastField(answer, 1, protowire.BytesType))
	n, _ := protowire.ConsumeVarint(lastField(inner, 1, protowire.VarintType))
	if n >= 1<<31 {
		return 0
	}
	return int64(n)
}

// lastField returns the last value of a field in a message, as far as it is one.
func lastField(b []byte, field protowire.Number, kind protowire.Type) (value []byte) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			break
		}
		length := protowire.ConsumeFieldValue(num, typ, b[n:])
		if length < 0 {
			break
		}
		if num == field && typ == kind {
			value = b[n : n+length]
		}
		b = b[n+length:]
	}
	return value
}

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

// Config describes the destination of spans.
type Config struct {
	Endpoint string // whole address of the traces
	Headers  map[string]string
	JSON     bool // http/json instead of http/protobuf
	Gzip     bool
	Timeout  time.Duration
	Resource []Attribute // the sender
}

// Attribute of a resource.
type Attribute struct{ Key, Value string }

// Configure reads the OTEL_* variables; not ok if they ask for no spans. version is that of ramet.
func Configure(env func(string) string, version string) (c Config, ok bool, err error) {
	of := func(name string) string { // that of traces goes before the one of all signals
		if v := strings.TrimSpace(env("OTEL_EXPORTER_OTLP_TRACES_" + name)); v != "" {
			return v
		}
		return strings.TrimSpace(env("OTEL_EXPORTER_OTLP_" + name))
	}
	exporter := strings.ToLower(strings.TrimSpace(env("OTEL_TRACES_EXPORTER")))
	switch {
	case strings.EqualFold(strings.TrimSpace(env("OTEL_SDK_DISABLED")), "true"), exporter == "none":
		return c, false, nil
	case exporter != "" && exporter != "otlp":
		return c, false, invalidVariable("OTEL_TRACES_EXPORTER", "ramet has the exporters otlp and none")
	case exporter == "" && of("ENDPOINT") == "":
		return c, false, nil
	}
	if c.Endpoint, err = readEndpoint(env); err != nil {
		return c, false, err
	}
	switch protocol := of("PROTOCOL"); protocol {
	case "", "http/protobuf":
	case "http/json":
		c.JSON = true
	default:
		return c, false, invalidVariable("OTEL_EXPORTER_OTLP_PROTOCOL", "ramet speaks http/protobuf and http/json")
	}
	switch of("COMPRESSION") {
	case "", "none":
	case "gzip":
		c.Gzip = true
	default:
		return c, false, invalidVariable("OTEL_EXPORTER_OTLP_COMPRESSION", "use gzip or none")
	}
	c.Timeout = 10 * time.Second
	if ms := of("TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n < 1 || n > 3_600_000 {
			return c, false, invalidVariable("OTEL_EXPORTER_OTLP_TIMEOUT", "use milliseconds, such as 10000")
		}
		c.Timeout = time.Duration(n) * time.Millisecond
	}
	if c.Headers, err = parsePairs(of("HEADERS")); err != nil {
		return c, false, invalidVariable("OTEL_EXPORTER_OTLP_HEADERS", "use name=value,name=value, with special characters as %xx")
	}
	if c.Resource, err = readResource(env, version); err != nil {
		return c, false, err
	}
	return c, true, nil
}

// readEndpoint returns the endpoint of traces: their own variable unchanged, or that of all signals followed by the
// path of traces.
func readEndpoint(env func(string) string) (string, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	address := strings.TrimSpace(env(name))
	if address == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		address = strings.TrimSpace(env(name))
		if address == "" {
			address = "http://localhost:4318"
		}
		address = strings.TrimRight(address, "/") + "/v1/traces"
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", invalidVariable(name, "use something like http://localhost:4318")
	}
	return address, nil
}

// invalidVariable never shows the value: there may be a secret in it.
func invalidVariable(name, hint string) error {
	return fault.New(fault.InvalidConfig, "%s is not understood", name).WithHint("%s", hint)
}

// parsePairs reads name=value,name=value with percent-encoded values.
func parsePairs(s string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range strings.Split(s, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, value, ok := strings.Cut(one, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil || strings.ContainsAny(name+decoded, "\r\n\x00") {
			return nil, errPairs()
		}
		out[name] = decoded
	}
	return out, nil
}

var errPairs = sync.OnceValue(func() *fault.Error { return fault.New(fault.InvalidConfig, "not name=value,name=value") })

func readResource(env func(string) string, version string) ([]Attribute, error) {
	more, err := parsePairs(env("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, invalidVariable("OTEL_RESOURCE_ATTRIBUTES", "use name=value,name=value, with special characters as %xx")
	}
	name := strings.TrimSpace(env("OTEL_SERVICE_NAME"))
	if name == "" {
		name = more["service.name"]
	}
	if name == "" {
		name = "ramet"
	}
	out := []Attribute{{"service.name", name}}
	if _, said := more["service.version"]; !said && version != "" {
		out = append(out, Attribute{"service.version", version})
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		if key != "service.name" {
			out = append(out, Attribute{key, more[key]})
		}
	}
	return out, nil
}
