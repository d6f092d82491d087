package vendors

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// Protocols are those that requests are made in.
var Protocols = []Protocol{Anthropic, Responses, Chat, Gemini}

// Request is one of ours, as it goes over the wire.
type Request struct {
	Name     string
	Protocol Protocol
	Body     []byte
}

// Requests makes, of what a vendor answered, the requests that go on with it: to
// the same vendor and to each of the others, with tools and results, an image,
// cache marks, and with and without thinking.
func Requests(ctx context.Context, r Recording, said llm.Message) []Request {
	messages := []llm.Message{llm.Say(llm.System, "Be brief."), {Role: llm.User, Parts: []llm.Part{
		{Type: llm.Text, Text: "Look."}, {Type: llm.Image, MediaType: "image/png", Data: []byte("png")}}}, said}
	results := llm.Message{Role: llm.ToolRole}
	for i, call := range said.Calls() {
		results.Parts = append(results.Parts, llm.Result(call, "4", i%2 == 1))
	}
	if len(results.Parts) > 0 {
		messages = append(messages, results)
	}
	open := messages
	messages = append(messages[:len(messages):len(messages)], llm.Say(llm.User, "Go on."), llm.Say(llm.System, "Hurry."))
	warm := 0.5
	var out []Request
	for _, p := range Protocols {
		for name, q := range map[string]llm.Request{
			"plain":    {Model: model[p], Messages: messages, MaxTokens: 100, Temperature: &warm},
			"tools":    {Model: model[p], Messages: messages, Tools: tools, MaxTokens: 100, CacheAfter: []int{0, 2, len(messages) - 1}, CacheKey: "tree"},
			"thinking": {Model: model[p], Messages: open, Tools: tools, MaxTokens: 64000, Effort: llm.High, CacheAfter: []int{0}, CacheHour: true},
			"hardest":  {Model: "of-tomorrow", Messages: messages, MaxTokens: 64000, Effort: llm.Max},
			"schema":   {Model: model[p], Messages: messages, Tools: tools, MaxTokens: 100, Schema: schema, NoCalls: true},
			"search":   {Model: model[p], Messages: messages, MaxTokens: 100, Search: true},
			"both":     {Model: newest[p], Messages: messages, Tools: tools, MaxTokens: 100, Search: true},
			"off":      {Model: model[p], Messages: messages, MaxTokens: 64000, Effort: llm.Off},
		} {
			out = append(out, Request{r.Name + " → " + string(p) + " " + name, p, bodyOf(ctx, p, q)})
		}
	}
	return out
}

var model = map[Protocol]string{Anthropic: "claude-opus-4-7", Responses: "gpt-5", Chat: "gpt-5", Gemini: "gemini-2.5-pro"}

// newest are models that search beside tools.
var newest = map[Protocol]string{Anthropic: "claude-opus-4-7", Responses: "gpt-5", Chat: "gpt-5", Gemini: "gemini-3.1-pro-preview"}

var tools = []llm.Tool{{Name: "read", Description: "Read a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}

var schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`)

// bodyOf is what would be sent; nothing is.
func bodyOf(ctx context.Context, p Protocol, q llm.Request) []byte {
	o := wire.Options{Vendor: "vendor", Base: "http://nowhere.invalid", Model: known(p), HTTP: refuses{}}
	for e := range provider(p, o).Stream(ctx, q) {
		if e.Type == llm.Sent {
			return e.Sent.Body
		}
	}
	return nil
}

type refuses struct{}

func (refuses) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }

// shapeOf is what a message is made of. Requests differ by that, not by what is
// said in them.
func shapeOf(p Protocol, m llm.Message) string {
	out := string(p)
	for _, part := range m.Parts {
		out += fmt.Sprint(" ", part.Type, part.Signature != "", part.Opaque != nil, part.Malformed != "", part.Text != "", wire.CallID(part.CallID) != part.CallID)
	}
	return out
}
