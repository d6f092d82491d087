package dial

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// rosterPatience limits how long a list may take.
const rosterPatience = 10 * time.Second

// rosterGlance limits how long a server on this machine may take to be found.
const rosterGlance = 500 * time.Millisecond

func vendorClient(ctx context.Context, v catalog.Vendor, a Access, rt http.RoundTripper) (*wire.Client, string, error) {
	base, err := v.URL(a.Base)
	if err != nil {
		return nil, "", err
	}
	o := wire.Options{Vendor: v.Name, Key: a.Key, Header: v.Header, HTTP: rt}
	var h http.Header
	path := "/models"
	switch v.Protocol {
	case catalog.Anthropic:
		h = o.Auth("X-Api-Key", "")
		h.Set("Anthropic-Version", "2023-06-01")
		base, path = strings.TrimSuffix(base, "/v1"), "/v1/models"
	case catalog.Gemini:
		h = o.Auth("X-Goog-Api-Key", "")
		base, path = strings.TrimSuffix(base, "/v1beta"), "/v1beta/models"
	default:
		h = o.Auth("Authorization", "Bearer ")
	}
	if a.Key == "" && a.Token != nil {
		if o.Key, err = a.Token(ctx); err != nil { // as a key it stays out of messages
			return nil, "", err
		}
		h.Set("Authorization", "Bearer "+o.Key)
	}
	o.Base = base
	return o.Client(h), path, nil
}

// TryKey asks a vendor for something that costs nothing and needs a good key: nil,
// PROVIDER_AUTH when the key is refused, or why nobody knows.
func TryKey(ctx context.Context, v catalog.Vendor, a Access, rt http.RoundTripper) error {
	ctx, cancel := context.WithTimeout(ctx, rosterPatience)
	defer cancel()
	c, path, err := vendorClient(ctx, v, a, rt)
	if err != nil {
		return err
	}
	if v.KeyPath != "" {
		path = v.KeyPath
	}
	_, err = c.Get(ctx, path)
	return err
}

// AskModels lists the models of a server that speaks OpenAI's protocol, in its order.
func AskModels(ctx context.Context, v catalog.Vendor, a Access, rt http.RoundTripper) ([]llm.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, rosterPatience)
	defer cancel()
	c, path, err := vendorClient(ctx, v, a, rt)
	if err != nil {
		return nil, err
	}
	text, err := c.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	return parseModels(text)
}

// parseModels reads a list. Servers say how much a model can read in a member of their
// own: vLLM in max_model_len, llama.cpp in meta, LM Studio in two.
func parseModels(text []byte) ([]llm.Model, error) {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Window int64  `json:"max_model_len"`
			Loaded int64  `json:"loaded_context_length"`
			Most   int64  `json:"max_context_length"`
			Meta   struct {
				Used    int64 `json:"n_ctx"`
				Trained int64 `json:"n_ctx_train"`
			} `json:"meta"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &list) != nil || list.Data == nil {
		return nil, fault.New(fault.ProviderProtocol, "what answers is not a list of models").
			WithHint("check the base URL: something else may answer there")
	}
	out := []llm.Model{}
	for _, one := range list.Data {
		if one.ID == "" || strings.ContainsAny(one.ID, " \t\r\n") || strings.Contains(strings.ToLower(one.ID), "embed") {
			continue // nobody can talk to it
		}
		m := llm.Model{Name: one.ID, Title: one.ID}
		for _, n := range []int64{one.Window, one.Loaded, one.Meta.Used, one.Meta.Trained, one.Most} {
			if m.Context == 0 && n > 0 {
				m.Context = n
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// LearnModels asks a server whose models nobody knows for them and puts them into the
// catalog; the first is its default. A vendor whose models stand in a table is left alone.
func LearnModels(ctx context.Context, v catalog.Vendor, a Access, rt http.RoundTripper) error {
	if !v.Asks {
		return nil
	}
	models, err := AskModels(ctx, v, a, rt)
	if err != nil {
		return err
	}
	if len(models) == 0 {
		return fault.New(fault.NotFound, "%s has no model", v.Name).WithHint("load one there")
	}
	catalog.Learn(v, catalog.Table{Default: models[0].Name, Models: models})
	return nil
}

// FoundModels is a server that answers on this machine.
type FoundModels struct {
	Vendor catalog.Vendor
	Models []llm.Model
}

// FindModels looks for local servers at their usual addresses, side by side, and gives
// those that answer with a list of models, in the order of the vendors.
func FindModels(ctx context.Context, vendors []catalog.Vendor, rt http.RoundTripper) []FoundModels {
	ctx, cancel := context.WithTimeout(ctx, rosterGlance)
	defer cancel()
	found := make([]*FoundModels, len(vendors))
	var all sync.WaitGroup
	for i, v := range vendors {
		if !v.Local {
			continue
		}
		all.Go(func() {
			if models, err := AskModels(ctx, v, Access{}, rt); err == nil && len(models) > 0 {
				found[i] = &FoundModels{v, models}
			}
		})
	}
	all.Wait()
	var out []FoundModels
	for _, one := range found {
		if one != nil {
			out = append(out, *one)
		}
	}
	return out
}

// ModelWindow asks a local server how many tokens a model of it reads and writes in all, where the
// server has a page that says so: Ollama's /api/ps (as it is loaded) and /api/show (as it would
// be), llama.cpp's /props. Others say it in their list of models (Learn). False if unknown.
func ModelWindow(ctx context.Context, v catalog.Vendor, a Access, model string, rt http.RoundTripper) (int64, bool) {
	ctx, cancel := context.WithTimeout(ctx, rosterPatience)
	defer cancel()
	c, _, err := vendorClient(ctx, v, a, rt)
	if err != nil || !v.Local {
		return 0, false
	}
	c.Base = strings.TrimSuffix(c.Base, "/v1")
	n := int64(0)
	switch v.Name {
	case "ollama":
		if n = loadedWindow(ctx, c, model); n <= 0 {
			n = trainedWindow(ctx, c, model)
		}
	case "llamacpp":
		n = serverWindow(ctx, c)
	}
	return n, n > 0
}

// loadedWindow returns the window of a model that Ollama holds in memory.
func loadedWindow(ctx context.Context, c *wire.Client, model string) int64 {
	var list struct {
		Models []struct {
			Name, Model string
			Context     int64 `json:"context_length"`
		}
	}
	text, err := c.Get(ctx, "/api/ps")
	if err != nil || json.Unmarshal(text, &list) != nil {
		return 0
	}
	for _, one := range list.Models {
		if one.Name == model || one.Model == model || one.Name == model+":latest" {
			return one.Context
		}
	}
	return 0
}

// trainedWindow returns the window that Ollama gives a model: the parameter of its file, else what it was
// trained for.
func trainedWindow(ctx context.Context, c *wire.Client, model string) int64 {
	ask, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return 0
	}
	text, err := c.Post(ctx, "/api/show", ask)
	var about struct {
		Parameters string
		Info       map[string]any `json:"model_info"`
	}
	if err != nil || json.Unmarshal(text, &about) != nil {
		return 0
	}
	for line := range strings.Lines(about.Parameters) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "num_ctx" {
			if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
				return n
			}
		}
	}
	for key, value := range about.Info {
		if n, ok := value.(float64); ok && strings.HasSuffix(key, ".context_length") {
			return int64(n)
		}
	}
	return 0
}

// serverWindow returns the window of each conversation at llama.cpp.
func serverWindow(ctx context.Context, c *wire.Client) int64 {
	text, err := c.Get(ctx, "/props")
	var about struct {
		Settings struct {
			Context int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if err != nil || json.Unmarshal(text, &about) != nil {
		return 0
	}
	return about.Settings.Context
}
