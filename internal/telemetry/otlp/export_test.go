package otlp

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/run"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "5ecret-value"

// receiver is a collector on loopback that reads what it is sent with the definitions of
// OpenTelemetry.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	answer   func() (status int, body []byte) // 0: taken
	requests int
	headers  http.Header
	resource map[string]any
	spans    map[string]*trace.Span // by id
	twice    int
	asked    chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{spans: map[string]*trace.Span{}, asked: make(chan struct{}, 1000)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	r.asked <- struct{}{}
	if r.answer != nil {
		if status, body := r.answer(); status != 0 {
			w.WriteHeader(status)
			w.Write(body)
			return
		}
	}
	in := io.Reader(q.Body)
	if q.Header.Get("Content-Encoding") == "gzip" {
		in, _ = gzip.NewReader(q.Body)
	}
	body, _ := io.ReadAll(in)
	var all collector.ExportTraceServiceRequest
	var err error
	if q.Header.Get("Content-Type") == "application/json" {
		err = protojson.Unmarshal(hexToBase64(body), &all)
	} else {
		err = proto.UnmarshalOptions{DiscardUnknown: false}.Unmarshal(body, &all)
	}
	if err != nil || len(all.ProtoReflect().GetUnknown()) > 0 || q.URL.Path != "/v1/traces" || q.Method != "POST" {
		w.WriteHeader(400)
		return
	}
	r.headers = q.Header
	for _, rs := range all.ResourceSpans {
		r.resource = values(rs.Resource.Attributes)
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				id := hex.EncodeToString(s.SpanId)
				if r.spans[id] != nil {
					r.twice++
				}
				r.spans[id] = s
			}
			if ss.Scope.Name != scope {
				r.twice = 1000
			}
		}
	}
}

// hexToBase64 turns ids into what protojson expects: OTLP's JSON has them in hex, against
// the usual rule.
func hexToBase64(body []byte) []byte {
	var v any
	json.Unmarshal(body, &v)
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, one := range v {
				if s, ok := one.(string); ok && (k == "traceId" || k == "spanId" || k == "parentSpanId") {
					b, _ := hex.DecodeString(s)
					v[k] = b // encoded as base64 below
				} else {
					walk(one)
				}
			}
		case []any:
			for _, one := range v {
				walk(one)
			}
		}
	}
	walk(v)
	out, _ := json.Marshal(v)
	return out
}

func values(list []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, kv := range list {
		out[kv.Key] = value(kv.Value)
	}
	return out
}

func value(v *common.AnyValue) any {
	switch v := v.Value.(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_ArrayValue:
		var out []any
		for _, one := range v.ArrayValue.Values {
			out = append(out, value(one))
		}
		return out
	}
	return nil
}

var epoch = time.Date(2026, 1, 15, 14, 22, 10, 0, time.UTC)

const traceID = "0af7651916cd43dd8448eb211c80319c"

// story is a small run: what each event gives.
func story() (out [][]telemetry.Delivery) {
	var f telemetry.Follow
	for i, row := range []struct{ kind, span, parent, payload string }{
		{"RUN_CREATED", "0000000000000001", "", `{"run_id":"r1","recipe":"docs"}`},
		{"WORK_ITEM_QUEUED", "00000000000000a1", "", `{"work_item_id":"r1:writer:1:intro","worker":"writer","attempt":1,"scope_key":"intro"}`},
		{"WORK_ITEM_STARTED", "00000000000000a1", "", `{"work_item_id":"r1:writer:1:intro"}`},
		{"LLM_CALL_STARTED", "00000000000000c1", "00000000000000a1", `{"call_id":"writer.intro.1","model":"claude-x","provider_base_url":"https://api.anthropic.com:8443/v1","prompt_hash":"p","temperature":0.25,"max_tokens":4096}`},
		{"LLM_CALL_FINISHED", "00000000000000c1", "00000000000000a1", `{"call_id":"writer.intro.1","latency_ms":100,"token_usage":{"input_tokens":1500,"output_tokens":30,"total_tokens":1530},"finish_reason":"stop","output_hash":"b","api_cost_usd":0.0495}`},
		{"LLM_CALL_STARTED", "00000000000000c2", "00000000000000a1", `{"call_id":"writer.intro.2","model":"m","provider_base_url":"script:","prompt_hash":"p","temperature":0,"max_tokens":1}`},
		{"LLM_CALL_FAILED", "00000000000000c2", "00000000000000a1", `{"call_id":"writer.intro.2","latency_ms":5,"error_class":"PROVIDER_RATE_LIMIT","error_summary":"slow down","retryable":true,"http_status":429}`},
		{"LLM_CACHE_HIT", "00000000000000c3", "00000000000000a1", `{"call_id":"writer.intro.3","cache_key":"k","output_hash":"b"}`},
		{"WORK_ITEM_FINISHED", "00000000000000a1", "", `{"work_item_id":"r1:writer:1:intro","outputs":[]}`},
		{"GATE_RUN_STARTED", "00000000000000b1", "", `{"gate":"links"}`},
		{"GATE_RUN_FINISHED", "00000000000000b2", "", `{"gate":"links","ok":false,"issues":["i"]}`},
		{"RUN_CANCELLED", "00000000000000b3", "", `{"reason":"asked for"}`},
		{"RUN_STATE_CHANGED", "00000000000000b4", "", `{"old_state":"CREATED","new_state":"CANCELLED"}`},
	} {
		out = append(out, f.Next(run.Event{RunID: "r1", Type: run.Type(row.kind), TS: epoch.Add(time.Duration(i) * 100 * time.Millisecond).Format(time.RFC3339Nano),
			TraceID: traceID, SpanID: row.span, ParentSpan: row.parent, Payload: []byte(row.payload)}))
	}
	return out
}

func (r *receiver) config(t *testing.T, more map[string]string) Config {
	t.Helper()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20" + secret + ", x-tenant = a",
		"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,deployment.environment.name=ci%2Ctest"}
	for k, v := range more {
		env[k] = v
	}
	c, ok, err := Configure(func(name string) string { return env[name] }, "1.2.3")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return c
}

func start(t *testing.T, c Config, o Options) *Exporter {
	if o.Pauses == nil {
		o.Pauses = []time.Duration{1, 1, 1}
	}
	x := New(c, o)
	t.Cleanup(x.Close)
	return x
}

func TestEveryFieldArrives(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"protobuf": nil,
		"gzip":     {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
		"json":     {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			x := start(t, r.config(t, env), Options{})
			for _, d := range story() {
				x.Put(d...)
			}
			testkit.OK(t, x.Flush(t.Context()))
			r.mu.Lock()
			defer r.mu.Unlock()
			if got, want := fmt.Sprint(r.resource), "map[deployment.environment.name:ci,test service.name:mine service.version:1.2.3]"; got != want {
				t.Errorf("resource %s", got)
			}
			if r.headers.Get("Authorization") != "Bearer "+secret || r.headers.Get("X-Tenant") != "a" {
				t.Errorf("headers %v", r.headers)
			}
			if len(r.spans) != 8 || r.twice > 0 || x.Dropped() != 0 || r.requests != 1 {
				t.Errorf("%d spans, %d twice, %d dropped, %d requests", len(r.spans), r.twice, x.Dropped(), r.requests)
			}
			node := ""
			for id, s := range r.spans {
				if s.Name == "state CREATED" {
					node = id
				}
			}
			for id, want := range map[string]string{
				"00000000000000c1": `chat claude-x CLIENT < 00000000000000a1 300ms+100ms OK ""` +
					` map[gen_ai.operation.name:chat gen_ai.provider.name:anthropic gen_ai.request.max_tokens:4096 gen_ai.request.model:claude-x gen_ai.request.temperature:0.25` +
					` gen_ai.response.finish_reasons:[stop] gen_ai.system:anthropic gen_ai.usage.input_tokens:1500 gen_ai.usage.output_tokens:30` +
					` ramet.call_id:writer.intro.1 ramet.cost_usd:0.0495 ramet.job_type:llm_call ramet.run_id:r1-llm_call-writer.intro.1-a1 ramet.status:success` +
					` server.address:api.anthropic.com server.port:8443]`,
				"00000000000000c2": `chat m CLIENT < 00000000000000a1 500ms+100ms ERROR "PROVIDER_RATE_LIMIT: slow down"` +
					` map[error.type:PROVIDER_RATE_LIMIT gen_ai.operation.name:chat gen_ai.provider.name:script gen_ai.request.max_tokens:1 gen_ai.request.model:m` +
					` gen_ai.request.temperature:0 gen_ai.response.finish_reasons:[error] gen_ai.system:script http.response.status_code:429` +
					` ramet.call_id:writer.intro.2 ramet.job_type:llm_call ramet.run_id:r1-llm_call-writer.intro.2-a1 ramet.status:failure]`,
				"00000000000000c3": `chat CLIENT < 00000000000000a1 700ms+0s OK ""` +
					` map[gen_ai.operation.name:chat gen_ai.usage.input_tokens:0 gen_ai.usage.output_tokens:0 ramet.cached:true` +
					` ramet.call_id:writer.intro.3 ramet.job_type:llm_call ramet.run_id:r1-llm_call-writer.intro.3-a1 ramet.status:success]`,
				"00000000000000a1": `invoke_agent writer INTERNAL < ` + node + ` 200ms+600ms OK ""` +
					` map[gen_ai.agent.name:writer gen_ai.operation.name:invoke_agent ramet.attempt:1 ramet.job_type:worker ramet.run_id:r1-worker-writer:intro-a1 ramet.scope:intro ramet.status:success]`,
				"00000000000000b1": `gate links INTERNAL < ` + node + ` 900ms+100ms ERROR "GATE_FAILED: 1 open issue"` +
					` map[error.type:GATE_FAILED ramet.gate:links ramet.job_type:gate ramet.run_id:r1-gate-links-a1 ramet.status:failure]`,
				node: `state CREATED INTERNAL < 0000000000000001 100ms+1.1s ERROR "CANCELLED: asked for"` +
					` map[error.type:CANCELLED ramet.job_type:orchestrator_node ramet.run_id:r1-orchestrator_node-CREATED-a1 ramet.state:CREATED ramet.status:cancelled]`,
				"00000000000000b4": `state CANCELLED INTERNAL < 0000000000000001 1.2s+0s ERROR ""` +
					` map[error.type:cancelled ramet.job_type:orchestrator_node ramet.run_id:r1-orchestrator_node-CANCELLED-a1 ramet.state:CANCELLED ramet.status:cancelled]`,
				"0000000000000001": `launch docs INTERNAL <  100ms+1.1s ERROR "CANCELLED: asked for"` +
					` map[error.type:CANCELLED ramet.job_type:launch ramet.recipe:docs ramet.run_id:r1 ramet.status:cancelled]`,
			} {
				if got := draw(r.spans[id]); got != want {
					t.Errorf("span %s\n got %s\nwant %s", id, got, want)
				}
			}
		})
	}
}

func draw(s *trace.Span) string {
	if s == nil || hex.EncodeToString(s.TraceId) != traceID {
		return "none of the trace"
	}
	begin := time.Unix(0, int64(s.StartTimeUnixNano)).Sub(epoch)
	return fmt.Sprintf("%s %s < %s %s+%s %s %q %v", s.Name, strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_"), hex.EncodeToString(s.ParentSpanId),
		begin, time.Duration(s.EndTimeUnixNano-s.StartTimeUnixNano), strings.TrimPrefix(s.Status.GetCode().String(), "STATUS_CODE_"), s.Status.GetMessage(), values(s.Attributes))
}

// What began in another process ends here; what ended there is not sent again.
func TestOnlyWhatEndsHereIsSent(t *testing.T) {
	r := newReceiver(t)
	x := start(t, r.config(t, nil), Options{})
	all := story()
	for _, d := range all[:6] {
		x.Learn(d...)
	}
	for _, d := range all[6:] {
		x.Put(d...)
		x.Put(d...) // told twice
	}
	testkit.OK(t, x.Flush(t.Context()))
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans) != 7 || r.spans["00000000000000c1"] != nil || r.spans["00000000000000c2"] == nil {
		t.Errorf("spans %v", len(r.spans))
	}
}

func TestATurnIsATrace(t *testing.T) {
	r := newReceiver(t)
	x := start(t, r.config(t, nil), Options{})
	turn, d := telemetry.BeginTurn(telemetry.TurnStart{Agent: "019b0000-0000-7000-8000-000000000001", Name: "bob", Key: "k", At: epoch})
	x.Put(d...)
	x.Put(turn.Call("c", epoch.Add(time.Second), history.Call{Model: "openai/gpt", Outcome: "stop", CacheRead: 3, CacheWrite: 4})...)
	x.Put(turn.End(epoch.Add(2*time.Second), "", "")...)
	testkit.OK(t, x.Flush(t.Context()))
	var worker, call *trace.Span
	for _, s := range r.spans {
		switch s.Name {
		case "invoke_agent bob":
			worker = s
		case "chat gpt":
			call = s
		}
	}
	if worker == nil || call == nil || string(call.ParentSpanId) != string(worker.SpanId) || string(call.TraceId) != string(worker.TraceId) {
		t.Fatalf("worker %v, call %v", worker, call)
	}
	a := values(call.Attributes)
	if a["gen_ai.provider.name"] != "openai" || a["gen_ai.usage.cache_read.input_tokens"] != int64(3) || a["gen_ai.usage.cache_creation.input_tokens"] != int64(4) {
		t.Errorf("attributes %v", a)
	}
}

func TestWhatTheCollectorDoesNotTakeIsCounted(t *testing.T) {
	partial, _ := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 2, ErrorMessage: "no"}})
	for name, c := range map[string]struct {
		answer   func() func() (int, []byte)
		requests int
		dropped  int64
	}{
		"500 is no use": {func() func() (int, []byte) { return func() (int, []byte) { return 500, nil } }, 1, 8},
		"400 is no use": {func() func() (int, []byte) { return func() (int, []byte) { return 400, nil } }, 1, 8},
		"503 for ever":  {func() func() (int, []byte) { return func() (int, []byte) { return 503, nil } }, 4, 8},
		"part of it":    {func() func() (int, []byte) { return func() (int, []byte) { return 200, partial } }, 1, 2},
		"nonsense":      {func() func() (int, []byte) { return func() (int, []byte) { return 200, []byte("\xff\xff\xff") } }, 1, 0},
		"429 three times": {func() func() (int, []byte) {
			n := 0
			return func() (int, []byte) {
				if n++; n <= 3 {
					return 429, nil
				}
				return 0, nil
			}
		}, 4, 0},
		"broken off once": {func() func() (int, []byte) {
			n := 0
			return func() (int, []byte) {
				if n++; n == 1 {
					panic(http.ErrAbortHandler)
				}
				return 0, nil
			}
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			r.answer = c.answer()
			var mu sync.Mutex
			var told []string
			x := start(t, r.config(t, nil), Options{Report: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, err.Error())
			}})
			for _, d := range story() {
				x.Put(d...)
			}
			testkit.OK(t, x.Flush(t.Context()))
			x.Close()
			if r.requests != c.requests || x.Dropped() != c.dropped || (len(told) > 0) != (c.dropped > 0) {
				t.Errorf("%d requests, %d dropped, told %q", r.requests, x.Dropped(), told)
			}
			if strings.Contains(strings.Join(told, " "), secret) {
				t.Errorf("a credential is told: %q", told)
			}
		})
	}
}

// A collector that hangs holds up nobody, and the queue does not grow for ever.
func TestACollectorThatHangs(t *testing.T) {
	r := newReceiver(t)
	release := make(chan struct{})
	r.answer = func() (int, []byte) { <-release; return 0, nil }
	x := start(t, r.config(t, nil), Options{Delay: 1})
	all := story()
	for _, d := range all {
		x.Put(d...)
	}
	<-r.asked
	at := epoch
	for i := range maxQueue + 10 {
		turn, d := telemetry.BeginTurn(telemetry.TurnStart{Agent: "a", Key: fmt.Sprint(i), At: at})
		x.Put(append(d, turn.End(at, "", "")...)...)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Flush(late); !fault.Is(err, fault.Failed) {
		t.Errorf("flush: %v", err)
	}
	if n := x.Dropped(); n < 1 || n > 18 {
		t.Errorf("%d dropped", n)
	}
	close(release)
	testkit.OK(t, x.Flush(t.Context()))
	x.Close()
	x.Put(all[0]...)
}

func TestConfigure(t *testing.T) {
	for _, c := range []struct {
		env  string
		want string // endpoint; "": off; "!": an error
	}{
		{"", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", "http://c:4318/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c/base/", "https://c/base/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://d/t", "http://d/t"},
		{"OTEL_TRACES_EXPORTER=otlp", "http://localhost:4318/v1/traces"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_EXPORTER=none", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_SDK_DISABLED=TRUE", ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_EXPORTER=zipkin", "!"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "!"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=c:5ecret-value", "!"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_TIMEOUT=soon", "!"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "!"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_HEADERS=5ecret-value", "!"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_HEADERS=a=5ecret-value%0d%0ax", "!"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_RESOURCE_ATTRIBUTES==x", "!"},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		got, ok, err := Configure(func(name string) string { return env[name] }, "v")
		switch {
		case c.want == "!":
			if !fault.Is(err, fault.InvalidConfig) || ok || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v %v", c.env, ok, err)
			}
		case err != nil || ok != (c.want != "") || ok && got.Endpoint != c.want:
			t.Errorf("%s: %q %v %v", c.env, got.Endpoint, ok, err)
		}
	}
}

func FuzzPairs(f *testing.F) {
	f.Add("a=b,c=%20d, =,x")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parsePairs(s)
		if err != nil && got != nil {
			t.Fatal("both")
		}
		for k, v := range got {
			if k == "" || strings.ContainsAny(k+v, "\r\n") {
				t.Fatalf("%q=%q", k, v)
			}
		}
	})
}

// A model is its vendor's, also behind an address of this machine.
func TestTheProviderIsTheVendor(t *testing.T) {
	for _, c := range []struct {
		about           about
		provider, model string
	}{
		{about{BaseURL: "http://127.0.0.1:4000/v1", Provider: "openai", Model: "gpt-x"}, "openai", "gpt-x"},
		{about{BaseURL: "https://api.anthropic.com/v1", Provider: "anthropic", Model: "claude-x"}, "anthropic", "claude-x"},
		{about{BaseURL: "http://127.0.0.1:4000/v1", Model: "m"}, "127.0.0.1", "m"}, // of a log that was written before
	} {
		if provider, model := providerOf(c.about); provider != c.provider || model != c.model {
			t.Errorf("%+v: %s %s", c.about, provider, model)
		}
	}
}
