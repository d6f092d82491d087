// Package anthropic speaks Anthropic's Messages protocol.
//
// Thinking goes back with its signature, redacted thinking as it came; that of
// other vendors is left out. Leading system messages are the system prompt;
// later ones become user texts in <system> tags, since the protocol has no place
// for them. Cache marks become cache_control, of which the protocol allows four.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"ramet/internal/llm"
	"ramet/internal/llm/wire"
)

// Origin marks what only this protocol can read.
const Origin = "anthropic"

// fallbackTokens is the limit of an answer where nobody knows the model's; the
// protocol demands one. Every model since Claude 4 may write as much.
const fallbackTokens = 32000

type provider struct {
	client *wire.Client
	model  func(string) llm.Model
}

// New makes a provider. The base URL is given without /v1.
func New(o wire.Options) llm.Provider {
	h := http.Header{"Anthropic-Version": {"2023-06-01"}}
	if o.Key != "" {
		h.Set("X-Api-Key", o.Key)
	}
	o.Base = strings.TrimSuffix(strings.TrimRight(o.Base, "/"), "/v1")
	return &provider{o.Client(h), o.Model}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return p.client.Ask(ctx, r, p.encode, newDecoder)
}
