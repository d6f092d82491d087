package dial

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ramet/internal/base/fault"
	"ramet/internal/model/catalog"
	"ramet/internal/model/decorate"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type calls []decorate.RecordedCall

func (c *calls) Record(_ context.Context, one decorate.RecordedCall) error {
	*c = append(*c, one)
	return nil
}

// Each vendor, by the name a user would give, through the whole stack: the first
// attempt is refused, the second answered, the call recorded with its cost.
func TestEveryVendorThroughTheStack(t *testing.T) {
	folders := map[catalog.Protocol]string{catalog.Anthropic: "anthropic", catalog.Responses: "responses", catalog.Chat: "chat", catalog.Gemini: "gemini"}
	paths := map[catalog.Protocol]string{catalog.Anthropic: "/v1/messages", catalog.Responses: "/v1/responses",
		catalog.Chat: "/v1/chat/completions", catalog.Gemini: "/v1beta/models/"}
	for _, v := range catalog.Vendors() {
		if v.BuiltIn {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			name := v.Table().Default
			if name == "" {
				name = "any/name"
			}
			answer := testkit.Must(os.ReadFile(filepath.Join("..", folders[v.Protocol], "testdata", "text.sse")))(t)
			attempts := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				path, header := paths[v.Protocol], ""
				switch v.Name { // hosts of others' protocols
				case "azure":
					path, header = "/openai/v1/responses", r.Header.Get("Api-Key")
				case "bedrock":
					path, header = "/model/us.anthropic.claude-", strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				case "vertex":
					path, header = "/v1/projects/p/locations/global/publishers/google/models/gemini-", r.Header.Get("X-Goog-Api-Key")
				}
				if !strings.HasPrefix(r.URL.Path, path) || path != paths[v.Protocol] && header != "k" {
					t.Errorf("asked for %s with %v", r.URL.Path, r.Header)
				}
				if attempts++; attempts == 1 {
					w.WriteHeader(529)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				w.Write(answer)
			}))
			defer srv.Close()
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			var kept calls
			p := testkit.Must(Model(llm.Ref{Vendor: v.Name, Name: name}, Options{
				Access: Access{Key: "k", Base: srv.URL, Project: "p"}, HTTP: transport, Recorder: &kept,
				Retry: decorate.RetryOptions{First: time.Nanosecond},
			}))(t)
			m, usage, _, err := llm.Collect(p.Stream(t.Context(), llm.Request{Model: name, Messages: []llm.Message{llm.Say(llm.User, "Hi")}}))
			if err != nil || m.Text() != "Hello, world." || usage != (llm.Usage{Input: 12, Output: 5}) {
				t.Fatalf("%+v %+v %v", m, usage, err)
			}
			if len(kept) != 1 || kept[0].Attempts != 2 || !kept[0].Priced || (kept[0].Cost == 0) != v.Local || kept[0].Outcome != "stop" {
				t.Errorf("recorded %+v", kept)
			}
		})
	}
}

// The built-in one: no key, no server, no waiting; recorded like the others.
func TestTheBuiltInModelThroughTheStack(t *testing.T) {
	var kept calls
	p := testkit.Must(Model(llm.Ref{Vendor: "offline", Name: "offline"}, Options{Recorder: &kept, Access: Access{Key: "not\nasked for", Base: "no URL"}}))(t)
	m, _, _, err := llm.Collect(p.Stream(t.Context(), llm.Request{Model: "offline", Messages: []llm.Message{llm.Say(llm.User, "Hi")}}))
	if err != nil || !strings.HasPrefix(m.Text(), "[offline model] ") {
		t.Fatalf("%+v %v", m, err)
	}
	if len(kept) != 1 || kept[0].Attempts != 1 || !kept[0].Priced || kept[0].Cost != 0 || kept[0].Outcome != "stop" ||
		kept[0].Model.String() != "offline/offline" || kept[0].Usage.Total() == 0 || kept[0].Size == 0 {
		t.Errorf("recorded %+v", kept)
	}
}

func TestScriptsOnlyWhereTheyAreAllowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Model.script")
	testkit.OK(t, os.WriteFile(path, []byte(`{"steps": [{"text": "hi"}]}`), 0o600))
	nobody := func(catalog.Vendor) bool { return false }
	if _, err := Choose("script/"+path, nobody, false); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	ref, err := Choose("script/"+path, nobody, true)
	if err != nil || ref.Name != path {
		t.Fatal(ref, err)
	}
	if ref, err := Choose("", nobody, true); err != nil || ref.String() != "offline/offline" {
		t.Error(ref, err)
	}
	if _, err := Model(ref, Options{}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := Model(llm.Ref{Vendor: Script, Name: path + "x"}, Options{Script: llmtest.OpenScript}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	for range 2 { // opened anew each time
		var kept calls
		p := testkit.Must(Model(ref, Options{Script: llmtest.OpenScript, Recorder: &kept}))(t)
		m, _, _, err := llm.Collect(p.Stream(t.Context(), llm.Request{Model: path, Messages: []llm.Message{llm.Say(llm.User, "Hi")}}))
		if err != nil || m.Text() != "hi" || len(kept) != 1 || !kept[0].Priced {
			t.Errorf("%+v %v %+v", m, err, kept)
		}
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	for name, c := range map[string]struct {
		vendor string
		access Access
		code   fault.Code
	}{
		"an unknown vendor":      {"acme", Access{}, fault.NotFound},
		"another built-in model": {"offline", Access{}, fault.NotFound},
		"a script":               {"script", Access{}, fault.NotFound},
		"no key":                 {"anthropic", Access{}, fault.ProviderAuth},
		"a key with a line feed": {"anthropic", Access{Key: "a\nb"}, fault.ProviderAuth},
		"no URL":                 {"openai", Access{Key: "k", Base: "localhost:8080"}, fault.InvalidConfig},
		"another scheme":         {"openai", Access{Key: "k", Base: "file:///etc"}, fault.InvalidConfig},
		"a query":                {"openai", Access{Key: "k", Base: "http://h/?a=sesame"}, fault.InvalidConfig},
	} {
		_, err := Model(llm.Ref{Vendor: c.vendor, Name: "m"}, Options{Access: c.access})
		if !fault.Is(err, c.code) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, access := range []Access{{}, {Base: "http://127.0.0.1:1/v1/"}} {
		if _, err := Model(llm.Ref{Vendor: "ollama", Name: "m"}, Options{Access: access}); err != nil {
			t.Errorf("%+v: %v", access, err)
		}
	}
	if _, err := Model(llm.Ref{Vendor: "openai", Name: "m"}, Options{Access: Access{Base: "http://127.0.0.1:1"}}); err != nil {
		t.Errorf("a server that needs no key: %v", err)
	}
}

func TestBaseURLs(t *testing.T) {
	for _, c := range [][3]string{
		{"openai", "", "https://api.openai.com/v1"}, {"ollama", "http://h:1", "http://h:1/v1"}, {"ollama", "http://h:1/", "http://h:1/v1"},
		{"azure", "https://me.openai.azure.com", "https://me.openai.azure.com/openai/v1"},
		{"ollama", "http://h:1/v1/", "http://h:1/v1"}, {"openrouter", "http://h/api/v1", "http://h/api/v1"}, {"anthropic", "http://h", "http://h"},
	} {
		v := testkit.Must(catalog.Find(c[0]))(t)
		if got, err := v.URL(c[1]); err != nil || got != c[2] {
			t.Errorf("%v: %s %v", c, got, err)
		}
	}
}

// hangs is a server that never answers, and counts how often it is asked.
type hangs struct{ asked int }

func (h *hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	h.asked++
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A local server that is slow to begin would begin anew: it is asked once.
func TestASlowLocalServerIsAskedOnce(t *testing.T) {
	for vendor, want := range map[string]int{"vllm": 1, "groq": 2} {
		synctest.Test(t, func(t *testing.T) {
			var server hangs
			p, err := Model(llm.Ref{Vendor: vendor, Name: "m"}, Options{Access: Access{Key: "k", Base: "http://127.0.0.1:1"}, HTTP: &server,
				First: time.Minute, Retry: decorate.RetryOptions{Attempts: 2}})
			testkit.OK(t, err)
			_, _, _, err = llm.Collect(p.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{llm.Say(llm.User, "Hi")}}))
			if !fault.Is(err, fault.ProviderUnreachable) || server.asked != want {
				t.Errorf("%s was asked %d times: %v", vendor, server.asked, err)
			}
		})
	}
}

func TestAmazonIsSignedForWithoutAKey(t *testing.T) {
	var header http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer srv.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	aws := AWSCredentials{ID: "AKIAEXAMPLE", Secret: "hush-hush-hush"}
	for key, want := range map[string]string{"": "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/", "k": "Bearer k"} {
		p := testkit.Must(Model(llm.Ref{Vendor: "bedrock", Name: "m"}, Options{Access: Access{Key: key, Base: srv.URL, AWS: aws, Region: "eu-west-1"}, HTTP: transport}))(t)
		llm.Collect(p.Stream(t.Context(), llm.Request{Model: "m", Messages: []llm.Message{llm.Say(llm.User, "Hi")}}))
		if got := header.Get("Authorization"); !strings.HasPrefix(got, want) || strings.Contains(got, "hush") {
			t.Errorf("%q: %s", key, got)
		}
	}
}

var at = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func sign(t *testing.T, url, region, body string, c AWSCredentials) (http.Header, error) {
	t.Helper()
	r := testkit.Must(http.NewRequest(http.MethodPost, url, strings.NewReader(body)))(t)
	err := NewAWSSigner(c, region, at)(r, []byte(body))
	return r.Header, err
}

func TestRequestsAreSigned(t *testing.T) {
	const url = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/invoke-with-response-stream"
	lasting := AWSCredentials{ID: "AKIAEXAMPLE", Secret: "secret"}
	first := testkit.Must(sign(t, url, "us-east-1", "{}", lasting))(t)
	got := first.Get("Authorization")
	if !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20260102/eu-central-1/bedrock/aws4_request, ") ||
		!strings.Contains(got, "x-amz-content-sha256") || first.Get("X-Amz-Security-Token") != "" || strings.Contains(got, "secret") {
		t.Errorf("%v", first)
	}
	other, _ := sign(t, url, "us-east-1", `{"a":1}`, lasting)
	if other.Get("Authorization") == got {
		t.Error("the body is not signed")
	}
	passing, _ := sign(t, "http://127.0.0.1:1/model/x", "us-west-2", "{}", AWSCredentials{"ASIAEXAMPLE", "secret", "session"})
	if passing.Get("X-Amz-Security-Token") != "session" || !strings.Contains(passing.Get("Authorization"), "/us-west-2/bedrock/") {
		t.Errorf("%v", passing)
	}
	if _, err := sign(t, "http://127.0.0.1:1/", "", "{}", lasting); !fault.Is(err, fault.InvalidConfig) {
		t.Error(err)
	}
}
