package decorate

import (
	"context"
	"iter"
	"sync"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// structuredKey names a refused schema: by which model, with tools or without.
type structuredKey struct {
	model  string
	schema chain.Hash
	tools  bool
}

// WithStructured asks again without a schema that was refused.
func WithStructured(next llm.Provider) llm.Provider {
	var refused sync.Map // a structuredKey each
	return llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
		if len(r.Schema) == 0 {
			return next.Stream(ctx, r)
		}
		return func(yield func(llm.Event) bool) {
			plain := r
			plain.Schema = nil
			k := structuredKey{r.Model, chain.Sum(r.Schema), len(r.Tools) > 0}
			if _, known := refused.Load(k); !known {
				// The refusal of a request without the schema will say why.
				if _, over := llm.PassOn(next.Stream(ctx, r), isBadRequest, yield); over {
					return
				}
			}
			if last, _ := llm.PassOn(next.Stream(ctx, plain), func(error) bool { return false }, yield); last.Type == llm.Finished {
				refused.Store(k, true) // it was the schema
			}
		}
	})
}

func isBadRequest(err error) bool { return fault.Is(err, fault.ProviderBadRequest) }
