// Package responses speaks OpenAI's Responses protocol.
//
// Nothing is stored at the vendor: the whole conversation goes along each time,
// and what the model thought comes and goes back encrypted, item by item, as it
// came. Thinking of other vendors is left out.
package responses

import (
	"context"
	"iter"

	"ramet/internal/llm"
	"ramet/internal/llm/wire"
)

// Origin marks what only this protocol can read.
const Origin = "openai-responses"

type provider struct {
	client *wire.Client
	model  func(string) llm.Model
}

// New makes a provider. The base URL is given with /v1.
func New(o wire.Options) llm.Provider {
	return &provider{o.Client(o.Auth("Authorization", "Bearer ")), o.Model}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return p.client.Ask(ctx, r, p.encode, newDecoder)
}
