// Package chat speaks OpenAI's Chat Completions protocol, which many servers
// speak besides: Ollama, llama.cpp, vLLM, OpenRouter and others.
//
// It takes what they differ in as it comes: calls in pieces or at once, with or
// without an index or an id; thinking as reasoning_content or reasoning; usage in
// a chunk of its own or not at all. Thinking goes back to the server it came from
// where that server wants it (Dialect.Thoughts, reasoning_details), and nowhere
// else.
package chat

import (
	"context"
	"iter"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// Dialect describes the differences between servers.
type Dialect struct {
	// Thoughts is the field in which a server wants plain thinking back; empty
	// where it wants none.
	Thoughts string
	// LongLimit: the limit of an answer is max_completion_tokens, not max_tokens.
	LongLimit bool
	// CacheKey: it takes prompt_cache_key.
	CacheKey bool
	// Marks: models whose names begin so want to be told what to cache, and the
	// server passes it on.
	Marks string
	// Cost: it says what it charged when asked to.
	Cost bool
	// Forms names how it holds an answer to a schema: Schema, Object, Apart; empty: it
	// cannot.
	Forms string
	// Plugin is its own search of the web; empty: it has none.
	Plugin string
}

// How a server holds an answer to a schema.
const (
	Schema = "schema" // it takes the schema
	Apart  = "apart"  // it takes it where the model may call no tools: it would keep it from calling any
	Object = "object" // it takes nothing but that an object is wanted
)

type provider struct {
	client *wire.Client
	model  func(string) llm.Model
	Dialect
	origin string
}

// New makes a provider. The base URL is given with /v1, where the server has it.
func New(o wire.Options, d Dialect) llm.Provider {
	return &provider{o.Client(o.Auth("Authorization", "Bearer ")), o.Model, d, "chat/" + o.Vendor}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return p.client.Ask(ctx, r, p.encode, func() wire.Decoder {
		return &decoder{parts: wire.Parts{Origin: p.origin}, calls: map[int]int{}, text: -1, thought: -1}
	})
}
