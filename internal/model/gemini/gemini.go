// Package gemini speaks Google's Gemini protocol.
//
// Signatures of thoughts stand on thoughts, texts and calls, and go back on the
// same parts. The newer models refuse a call without one; a call of another
// vendor gets the word that Google provides for that case. Where its own search
// stands beside functions, what the server called and found comes as parts of the
// answer and goes back with it.
package gemini

import (
	"context"
	"iter"
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// Origin marks what only this protocol can read.
const Origin = "gemini"

type provider struct {
	client *wire.Client
	model  func(string) llm.Model
	below  string // the path of the models
}

// usual is the path of the models at Gemini's own API.
const usual = "/v1beta/models/"

// New makes a provider. The base URL is given without the version.
func New(o wire.Options) llm.Provider { return At(o, usual) }

// At makes a provider for models that stand below another path.
func At(o wire.Options, below string) llm.Provider {
	h := o.Auth("X-Goog-Api-Key", "")
	o.Base = strings.TrimSuffix(strings.TrimRight(o.Base, "/"), "/v1beta")
	return &provider{o.Client(h), o.Model, below}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return p.client.Ask(ctx, r, p.encode, func() wire.Decoder {
		return &decoder{parts: wire.Parts{Origin: Origin}, open: -1, perQuery: takesLevels(p.model(r.Model))}
	})
}
