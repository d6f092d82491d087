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
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// Origin marks what only this protocol can read.
const Origin = "anthropic"

// fallbackTokens is the limit of an answer where nobody knows the model's; the
// protocol demands one. Every model since Claude 4 may write as much.
const fallbackTokens = 32000

// Host describes a host that speaks the protocol differently from Anthropic's.
type Host struct {
	// Framed is Amazon's: the model stands in the path and not in the body, which
	// names its version instead, and answers come in frames.
	Framed bool
	// Below is Google's: the models stand below this path, not in the body, which
	// names its version instead.
	Below string
}

// What Amazon and Google call the protocol.
const (
	framedVersion = "bedrock-2023-05-31"
	belowVersion  = "vertex-2023-10-16"
)

type provider struct {
	client *wire.Client
	model  func(string) llm.Model
	Host
}

// At makes a provider for a host of the protocol; the zero value is Anthropic's own. The base URL is given without /v1.
func At(o wire.Options, at Host) llm.Provider {
	h := o.Auth("X-Api-Key", "")
	if at == (Host{}) {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	o.Base = strings.TrimSuffix(strings.TrimRight(o.Base, "/"), "/v1")
	return &provider{o.Client(h), o.Model, at}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return p.client.Ask(ctx, r, p.encode, newDecoder)
}
