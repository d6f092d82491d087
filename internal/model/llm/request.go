package llm

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Tool is something that a model may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, an object
}

// Effort names how hard a model should think. Empty leaves it to the vendor.
type Effort string

// The efforts. A model that does not know one gets the nearest it has.
const (
	Off     Effort = "none"
	Minimal Effort = "minimal"
	Low     Effort = "low"
	Medium  Effort = "medium"
	High    Effort = "high"
	XHigh   Effort = "xhigh"
	Max     Effort = "max"

	// Usual is told to go back to what is usual: it says as much as nothing.
	Usual Effort = "default"
)

var ladder = []Effort{Off, Minimal, Low, Medium, High, XHigh, Max}

// ParseEffort reads an effort; empty is none said.
func ParseEffort(s string) (Effort, error) {
	if e := Effort(s); e == "" || e == Usual || slices.Contains(ladder, e) {
		return e, nil
	}
	return "", fault.New(fault.InvalidConfig, "%.40q is not an effort", s).
		WithHint("%s", text.NearestHint(s, Efforts(), "one of "+strings.Join(Efforts(), ", ")))
}

// Efforts returns the words that ParseEffort reads.
func Efforts() []string {
	out := []string{string(Usual)}
	for _, e := range ladder {
		out = append(out, string(e))
	}
	return out
}

// Or returns the effort where something was said, else the other one.
func (e Effort) Or(other Effort) Effort {
	if e == "" || e == Usual {
		return other
	}
	return e
}

// Request is a request to a model.
type Request struct {
	Model string `json:"model"` // the vendor's name for it
	// Messages may be the beginning of later requests too, also of others that ask at the same time: whoever
	// gets them does not change them.
	Messages    []Message `json:"messages"`
	Tools       []Tool    `json:"tools,omitempty"`
	Untold      []string  `json:"-"`                     // tools that would be carried out too; vendors are not told of them
	MaxTokens   int64     `json:"max_tokens,omitempty"`  // of the answer; 0 is what the model allows
	Temperature *float64  `json:"temperature,omitempty"` // nil leaves it to the vendor
	Effort      Effort    `json:"effort,omitempty"`
	// CacheAfter lists messages, by index, up to which the request will be sent
	// again: vendors that cache on demand are told so. Tools count as standing
	// before the first message.
	CacheAfter []int `json:"cache_after,omitempty"`
	// CacheHour: what is marked will be sent again later than in a few minutes, and
	// is worth to be kept for an hour where the vendor can.
	CacheHour bool `json:"cache_hour,omitempty"`
	// CacheKey is the same for all requests that begin alike; vendors that spread
	// requests over machines send those of one key to the same.
	CacheKey string `json:"cache_key,omitempty"`
	// Schema is a JSON Schema that the answer is to fit. Vendors that can hold a model
	// to one are told it, in as many words as they know; who asks must see for himself
	// whether the answer fits.
	Schema json.RawMessage `json:"schema,omitempty"`
	// NoCalls: the model is to answer now, and to call nothing.
	NoCalls bool `json:"no_calls,omitempty"`
	// Search lets the model search the web at its vendor, where it can.
	Search bool `json:"search,omitempty"`
}

// Check refuses what no vendor would take, before anything is sent.
func (r Request) Check() error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.ProviderBadRequest, "ask model: "+format, args...)
	}
	if r.Model == "" {
		return bad("no model is named")
	}
	if len(r.Messages) == 0 {
		return bad("there is no message")
	}
	for i, m := range r.Messages {
		switch m.Role {
		case System, User, Assistant, ToolRole:
		default:
			return bad("message %d has the role %.20q", i, m.Role)
		}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Type == ToolCall && !isJSON(p.Args) {
				return bad("message %d: the arguments of call %.40q are no JSON", i, p.CallID)
			}
		}
	}
	for _, t := range r.Tools {
		if t.Name == "" || !isJSON(t.Schema) {
			return bad("tool %.40q has no name or no JSON schema", t.Name)
		}
	}
	return nil
}

// isJSON calls json.Valid, in a third of its time: the arguments of all calls of a conversation are looked at
// with each request.
func isJSON(text []byte) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
