package runner

import (
	"encoding/json"
	"net/url"

	"ramet/internal/base/chain"
	"ramet/internal/model/llm"
)

// hashJSON returns the hash of a value's canonical JSON, and that of its text.
func hashJSON(v any) (canonical, text string, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", "", err
	}
	text = chain.Sum(b).String()
	c, err := chain.Canonical(b)
	if err != nil {
		return text, text, nil // a number that no double holds: any JSON can come from a model
	}
	return chain.Sum(c).String(), text, nil
}

// identity holds the hashes of a request.
type identity struct {
	prompt string
	tools  string // empty: there are none
	key    string
}

func (p *provider) identify(r llm.Request) (identity, error) {
	var out identity
	prompt, messages, err := hashJSON(r.Messages)
	if err != nil {
		return out, err
	}
	out.prompt = prompt
	tools := ""
	if len(r.Tools) > 0 {
		if out.tools, tools, err = hashJSON(r.Tools); err != nil {
			return out, err
		}
	}
	about := map[string]any{
		"format": format, "provider": p.BaseURL, "model": p.Vendor + "/" + r.Model, "messages": messages, "tools": tools,
		"max_tokens": r.MaxTokens, "temperature": r.Temperature, "effort": r.Effort,
	}
	// What most requests do not have is left out, so that their answers are found again.
	for name, value := range map[string]any{"schema": string(r.Schema), "no_calls": r.NoCalls, "search": r.Search} {
		if value != "" && value != false {
			about[name] = value
		}
	}
	out.key, _, err = hashJSON(about)
	return out, err
}

// bareAddress returns an address without the parts that may be secret: user, query and fragment.
func bareAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// DefaultTemperature returns the temperature that a vendor uses where a request has none.
func DefaultTemperature(vendor string) float64 {
	switch vendor {
	case "offline", "script": // they draw no lots
		return 0
	case "ollama", "llamacpp", "lmstudio":
		return 0.8
	}
	return 1
}
