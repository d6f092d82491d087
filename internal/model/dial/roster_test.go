package dial

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

func vendor(t *testing.T, name string) catalog.Vendor {
	t.Helper()
	v := testkit.Must(catalog.Find(name))(t)
	return v
}

// server answers one path with a text, and everything else with 404.
func server(t *testing.T, path, text string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, text)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestListsOfServers(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		window     int64
	}{
		"vllm":      {`{"object":"list","data":[{"id":"org/m","object":"model","max_model_len":32768}]}`, "org/m", 32768},
		"llamacpp":  {`{"models":[{"name":"x"}],"object":"list","data":[{"id":"m.gguf","meta":{"n_ctx_train":8192}}]}`, "m.gguf", 8192},
		"ollama":    {`{"object":"list","data":[{"id":"nomic-embed-text:latest"},{"id":"llama3:8b"}]}`, "llama3:8b", 0},
		"lmstudio":  {`{"data":[{"id":"m","max_context_length":4096,"loaded_context_length":2048}]}`, "m", 2048},
		"something": {`<html>hello</html>`, "", 0},
		"other":     {`{"status":"ok"}`, "", 0},
	} {
		v := vendor(t, "vllm")
		models, err := AskModels(t.Context(), v, Access{Base: server(t, "/v1/models", c.text)}, nil)
		if c.want == "" {
			if !fault.Is(err, fault.ProviderProtocol) {
				t.Errorf("%s: %v %v", name, models, err)
			}
			continue
		}
		if err != nil || len(models) != 1 || models[0].Name != c.want || models[0].Context != c.window {
			t.Errorf("%s: %+v %v", name, models, err)
		}
	}
}

func TestWhatIsLearntIsInTheCatalog(t *testing.T) {
	v := vendor(t, "lmstudio")
	t.Cleanup(func() { catalog.Learn(v, catalog.Table{}) })
	base := server(t, "/v1/models", `{"data":[{"id":"a","loaded_context_length":2048},{"id":"b"}]}`)
	testkit.OK(t, LearnModels(t.Context(), v, Access{Base: base}, nil))
	ref, err := catalog.Choose("", func(o catalog.Vendor) bool { return o.Name == "lmstudio" })
	if err != nil || ref.String() != "lmstudio/a" {
		t.Errorf("%s %v", ref, err)
	}
	if m, ok := v.Model("a"); ok || m.Context != 2048 {
		t.Errorf("%+v %v", m, ok)
	}
	if price, ok := v.Price("b"); !ok || price.Input != 0 {
		t.Error("it costs something")
	}
	if err := LearnModels(t.Context(), vendor(t, "openai"), Access{Base: "http://127.0.0.1:1"}, nil); err != nil {
		t.Errorf("a vendor with a table was asked: %v", err)
	}
}

// keyed is a vendor that takes one key.
func keyed(path, header, value string) http.RoundTripper {
	return trip(func(r *http.Request) (*http.Response, error) {
		status, text := 200, `{"data":[]}`
		switch {
		case r.URL.Path != path:
			status, text = 404, `{"error":{"message":"no such page"}}`
		case r.Header.Get(header) != value:
			status, text = 401, `{"error":{"message":"invalid key","type":"authentication_error"}}`
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))}, nil
	})
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestKeysAreTried(t *testing.T) {
	for name, c := range map[string]struct{ path, header, value string }{
		"anthropic":  {"/v1/models", "X-Api-Key", "good"},
		"openai":     {"/v1/models", "Authorization", "Bearer good"},
		"gemini":     {"/v1beta/models", "X-Goog-Api-Key", "good"},
		"openrouter": {"/api/v1/key", "Authorization", "Bearer good"}, // anybody may read its models
		"groq":       {"/openai/v1/models", "Authorization", "Bearer good"},
	} {
		rt := keyed(c.path, c.header, c.value)
		if err := TryKey(t.Context(), vendor(t, name), Access{Key: "good"}, rt); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := TryKey(t.Context(), vendor(t, name), Access{Key: "bad-key"}, rt); !refused(err) || strings.Contains(err.Error(), "bad-key") {
			t.Errorf("%s: %v", name, err)
		}
	}
	down := trip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	if err := TryKey(t.Context(), vendor(t, "openai"), Access{Key: "good"}, down); refused(err) || !fault.Is(err, fault.ProviderUnreachable) {
		t.Error(err)
	}
}

func TestServersOfThisMachineAreFound(t *testing.T) {
	here := vendor(t, "ollama")
	here.Base = server(t, "/v1/models", `{"data":[{"id":"llama3"}]}`)
	other := vendor(t, "llamacpp")
	other.Base = server(t, "/", "a page")
	gone := vendor(t, "vllm")
	gone.Base = "http://127.0.0.1:1/v1"
	found := FindModels(context.Background(), []catalog.Vendor{vendor(t, "anthropic"), here, other, gone}, nil)
	if len(found) != 1 || found[0].Vendor.Name != "ollama" || found[0].Models[0].Name != "llama3" {
		t.Errorf("%+v", found)
	}
}

// Local servers say how much their models read, each on a page of its own.
func TestWindowsOfServers(t *testing.T) {
	const show = `{"parameters":"stop \"x\"\nnum_ctx                        8192\n","model_info":{"general.architecture":"llama","llama.context_length":131072}}`
	for _, c := range []struct {
		vendor string
		pages  map[string]string
		want   int64
	}{
		{"ollama", map[string]string{"/api/show": show}, 8192},
		{"ollama", map[string]string{"/api/show": strings.Replace(show, "num_ctx", "num_keep", 1)}, 131072},
		{"ollama", map[string]string{"/api/ps": `{"models":[{"name":"other","context_length":9},{"name":"m","model":"m","context_length":4096}]}`, "/api/show": show}, 4096},
		{"ollama", map[string]string{"/api/ps": `{"models":[]}`}, 0},
		{"llamacpp", map[string]string{"/props": `{"default_generation_settings":{"n_ctx":2048}}`}, 2048},
		{"llamacpp", map[string]string{"/props": `<html>`}, 0},
		{"vllm", map[string]string{"/props": `{"default_generation_settings":{"n_ctx":2048}}`}, 0},
		{"anthropic", nil, 0},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			text, ok := c.pages[r.URL.Path]
			if !ok || r.URL.Path == "/api/show" && (r.Method != http.MethodPost || string(body) != `{"model":"m"}`) {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, text)
		}))
		got, ok := ModelWindow(t.Context(), vendor(t, c.vendor), Access{Base: srv.URL}, "m", nil)
		srv.Close()
		if got != c.want || ok != (c.want > 0) {
			t.Errorf("%s, %v: %d", c.vendor, c.pages, got)
		}
	}
}

// refused says that the vendor was reached and did not take the key.
func refused(err error) bool {
	_, said := errors.AsType[*llm.Failure](err)
	return said && fault.Is(err, fault.ProviderAuth)
}
