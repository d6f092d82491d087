package dial

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"ramet/internal/model/catalog"
	"ramet/internal/model/wire"
)

// ModelWindow asks a local server how many tokens a model of it reads and writes in all, where the
// server has a page that says so: Ollama's /api/ps (as it is loaded) and /api/show (as it would
// be), llama.cpp's /props. Others say it in their list of models (Learn). false: nobody knows.
func ModelWindow(ctx context.Context, v catalog.Vendor, a ModelAccess, model string, rt http.RoundTripper) (int64, bool) {
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
