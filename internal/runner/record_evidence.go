package runner

import (
	"bytes"
	"encoding/json"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// evidence is the file that shows what was asked and answered.
type evidence struct {
	CallID   string `json:"call_id"`
	ItemID   string `json:"work_item_id"`
	Attempt  int64  `json:"attempt"`
	Agent    string `json:"agent,omitempty"`
	Provider string `json:"provider"`
	BaseURL  string `json:"provider_base_url"`
	// Redacted is true if the file does not hold what was sent and answered word by word:
	// secrets were replaced.
	Redacted bool   `json:"redacted"`
	Cached   bool   `json:"cached"`
	CacheKey string `json:"cache_key"`
	Sent     int    `json:"times_sent"`
	Bytes    string `json:"sent_sha256,omitempty"` // path, line feed and body as they left
	// Wire holds the fields of the request besides conversation and tools, with the vendor's names.
	Wire map[string]json.RawMessage `json:"sent,omitempty"`

	PromptHash string           `json:"prompt_hash"`
	Request    any              `json:"request"`
	Answer     *recordedAnswer  `json:"answer,omitempty"`
	Failure    *recordedFailure `json:"failure,omitempty"`
}

type recordedAnswer struct {
	Parts        []llm.Part `json:"parts"`
	Usage        llm.Usage  `json:"usage"`
	FinishReason string     `json:"finish_reason,omitempty"`
	RawReason    string     `json:"finish_reason_raw,omitempty"`
	OutputHash   string     `json:"output_hash,omitempty"`
}

type recordedFailure struct {
	Class   string `json:"error_class"`
	Message string `json:"message"`
}

// newEvidence returns the evidence that is known before the answer.
func (c *call) newEvidence() *evidence {
	w := &evidence{CallID: c.id, ItemID: c.Item.ID, Attempt: c.Item.Number, Agent: c.Agent, Provider: c.Vendor, BaseURL: c.BaseURL,
		CacheKey: c.key, Sent: c.times, PromptHash: c.prompt, Request: withoutImages(c.request)}
	if c.times > 0 {
		w.Bytes = chain.Hash(c.sent.Hash()).String()
		w.Wire = bodySettings(c.sent.Body)
	}
	return w
}

// bodySettings returns the members of a body that are not the conversation.
func bodySettings(body []byte) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if json.Unmarshal(body, &out) != nil {
		return nil // of a model that is built in
	}
	for _, name := range []string{"messages", "system", "input", "contents", "systemInstruction", "tools"} {
		delete(out, name)
	}
	return out
}

// withoutImages returns a request without the bytes of its images, which their hashes replace.
func withoutImages(r llm.Request) llm.Request {
	r.CacheAfter, r.CacheKey, r.CacheHour = nil, "", false
	messages := make([]llm.Message, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = m
		for j, p := range m.Parts {
			if len(p.Data) == 0 {
				continue
			}
			if &messages[i].Parts[0] == &m.Parts[0] {
				messages[i].Parts = append([]llm.Part(nil), m.Parts...)
			}
			messages[i].Parts[j].Data = nil
			messages[i].Parts[j].Text = "sha256:" + chain.Sum(p.Data).String()
		}
	}
	r.Messages = messages
	return r
}

// file is the evidence without secrets.
func (c *call) file(w *evidence) (*Blob, error) {
	b, err := json.Marshal(w)
	if err == nil {
		b, w.Redacted, err = c.redact(b)
	}
	if err == nil && w.Redacted { // once more, and it says so
		if b, err = json.Marshal(w); err == nil {
			b, _, err = c.redact(b)
		}
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "write evidence of model call %s: %w", c.id, err)
	}
	return &Blob{Path: c.path(), Data: append(b, '\n')}, nil
}

// redact replaces secrets in a JSON text: in each of its strings, and where a name and its
// value are next to each other. Texts are looked at one by one, because most of them, the system
// prompt first of all, are the same in every call, and the redactor may cache them.
func (c *call) redact(b []byte) ([]byte, bool, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, false, err
	}
	changed := false
	v = c.walk(v, &changed)
	if !changed {
		return b, false, nil
	}
	b, err := json.Marshal(v)
	return b, true, err
}

func (c *call) walk(v any, changed *bool) any {
	switch v := v.(type) {
	case string:
		clean, found := c.Redact(v)
		*changed = *changed || found
		return clean
	case []any:
		for i := range v {
			v[i] = c.walk(v[i], changed)
		}
	case map[string]any:
		for k := range v {
			v[k] = c.walk(v[k], changed)
			if s, ok := v[k].(string); ok && len(s) <= longestValue && !ours[k] {
				v[k] = c.named(k, s, changed)
			}
		}
	}
	return v
}

// longestValue of a secret that is known by its name alone.
const longestValue = 512

// ours are names of our own whose values are hashes and ids, and no secrets.
var ours = map[string]bool{"cache_key": true, "prompt_hash": true, "output_hash": true, "sent_sha256": true, "call_id": true,
	"work_item_id": true, "agent": true, "id": true, "type": true, "name": true, "description": true, "role": true, "text": true}

// named looks at a value together with its name.
func (c *call) named(name, value string, changed *bool) string {
	before, after := name+`: "`, `"`
	clean, found := c.Redact(before + value + after)
	if !found {
		return value
	}
	*changed = true
	if inner, ok := strings.CutPrefix(clean, before); ok {
		if inner, ok = strings.CutSuffix(inner, after); ok {
			return inner
		}
	}
	return "[redacted]"
}
