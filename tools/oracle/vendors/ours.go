package vendors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ramet/internal/model/anthropic"
	"ramet/internal/model/catalog"
	"ramet/internal/model/chat"
	"ramet/internal/model/gemini"
	"ramet/internal/model/llm"
	"ramet/internal/model/responses"
	"ramet/internal/model/wire"
)

func provider(p Protocol, o wire.Options) llm.Provider {
	switch p {
	case Anthropic:
		return anthropic.At(o, anthropic.Host{})
	case Bedrock:
		o.Header = "Authorization"
		return anthropic.At(o, anthropic.Host{Framed: true})
	case Responses:
		return responses.New(o)
	case Gemini:
		return gemini.New(o)
	}
	return chat.New(o, chat.Dialect{})
}

// Ours is what our adapter makes of what a server at base sends.
func Ours(ctx context.Context, p Protocol, base string) Answer {
	a, _ := hear(ctx, p, base)
	return a
}

// hear gives the message too.
func hear(ctx context.Context, p Protocol, base string) (Answer, llm.Message) {
	o := wire.Options{Vendor: "vendor", Base: base, Key: "key", Model: known(p)}
	m, u, finish, err := llm.Collect(provider(p, o).Stream(ctx, llm.Request{Model: "m", Messages: []llm.Message{llm.Say(llm.User, "Hi")}}))
	a := Answer{Text: m.Text(), Stop: finish.Raw, Tokens: Tokens{
		Prompt: u.Input + u.CacheRead + u.CacheWrite, Cached: u.CacheRead, Written: u.CacheWrite,
		Output: u.Output, Reasoning: u.Reasoning, Total: u.Total(),
	}}
	for _, part := range m.Parts {
		if part.Type == llm.Thinking {
			a.Thinking += part.Text
		}
		if part.Signature != "" {
			a.Kept = append(a.Kept, part.Signature)
		}
		for _, page := range part.Sources {
			a.Pages = append(a.Pages, page.URL)
		}
		switch {
		case part.Type == llm.Search:
			a.Looked = append(a.Looked, looked(part)...)
		case part.Type == llm.Text && part.Sources != nil: // its citations, which are among the pages
		case part.Opaque != nil:
			a.Kept = append(a.Kept, secrets(part.Opaque)...)
		}
	}
	for _, call := range m.Calls() {
		args := string(call.Args)
		if call.Malformed != "" {
			args = call.Malformed
		}
		id := call.CallID
		if wire.IsDrawn(id) {
			id = ""
		}
		a.Calls = append(a.Calls, Call{id, call.Name, canonical(args)})
	}
	if err != nil {
		a.Err = err.Error()
		if why, ok := errors.AsType[*llm.Failure](err); ok {
			a.Err = fmt.Sprint(why.Status, " ", why.Says)
		}
	}
	return a, m
}

// looked is what was looked up: the question, or each thing that was found.
func looked(part llm.Part) []string {
	if part.Text != "" {
		return []string{part.Text}
	}
	var found struct {
		Content []struct {
			Sealed string `json:"encrypted_content"`
		} `json:"content"`
	}
	json.Unmarshal(part.Opaque, &found) // an error was found
	var out []string
	for _, one := range found.Content {
		out = append(out, one.Sealed)
	}
	return out
}

// known is what the catalog knows of the models of a protocol's own vendor.
func known(p Protocol) func(string) llm.Model {
	name := map[Protocol]string{Anthropic: "anthropic", Bedrock: "anthropic", Responses: "openai", Chat: "openai", Gemini: "gemini"}[p]
	v, err := catalog.Find(name)
	if err != nil {
		panic(err)
	}
	return func(name string) llm.Model { m, _ := v.Model(name); return m }
}

// secrets finds what only the vendor can read in what is kept for it: one piece,
// or a list of details, each with its type and id.
func secrets(raw json.RawMessage) []string {
	var list []detail
	if json.Unmarshal(raw, &list) == nil {
		return collected(list)
	}
	var one struct {
		Data      string `json:"data"`
		Encrypted string `json:"encrypted_content"`
	}
	json.Unmarshal(raw, &one)
	return []string{one.Data + one.Encrypted}
}
