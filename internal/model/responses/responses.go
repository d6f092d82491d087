// Package responses speaks OpenAI's Responses protocol.
//
// Nothing is stored at the vendor: the whole conversation goes along each time,
// and what the model thought comes and goes back encrypted, item by item, as it
// came. Thinking of other vendors is left out. Summaries of it for people are asked
// for unless the vendor refuses them, as it does to organisations that it does not
// know: then they are left out as long as the provider lives.
package responses

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// ResponsesOrigin marks what only this protocol can read.
const ResponsesOrigin = "openai-responses"

type provider struct {
	client  *wire.Client
	model   func(string) llm.Model
	private atomic.Bool // summaries were refused
}

// New makes a provider. The base URL is given with /v1.
func New(o wire.Options) llm.Provider {
	return &provider{client: o.Client(o.Auth("Authorization", "Bearer ")), model: o.Model}
}

func (p *provider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		private := p.private.Load()
		refused := func(err error) bool { return !private && summariesRefused(err) }
		if _, over := llm.PassOn(p.client.Ask(ctx, r, p.encode, newDecoder), refused, yield); !over {
			p.private.Store(true)
			p.client.Ask(ctx, r, p.encode, newDecoder)(yield)
		}
	}
}

// summariesRefused reports whether a request failed because it asked for summaries.
func summariesRefused(err error) bool {
	why, ok := errors.AsType[*llm.Failure](err)
	return ok && fault.Is(err, fault.ProviderBadRequest) && (why.Param == "reasoning.summary" || strings.Contains(strings.ToLower(why.Says), "reasoning summaries"))
}
