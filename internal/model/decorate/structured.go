package decorate

import (
	"context"
	"iter"
	"sync"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

type structuredProvider struct {
	next llm.Provider

	mu      sync.Mutex
	refused map[key]bool
}

// key names a refused schema: by which model, with tools or without.
type key struct {
	model  string
	schema chain.Hash
	tools  bool
}

// WithStructured puts the second try around a provider.
func WithStructured(next llm.Provider) llm.Provider {
	return &structuredProvider{next: next, refused: map[key]bool{}}
}

func (p *structuredProvider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	if len(r.Schema) == 0 {
		return p.next.Stream(ctx, r)
	}
	return func(yield func(llm.Event) bool) {
		k := key{r.Model, chain.Sum(r.Schema), len(r.Tools) > 0}
		plain := r
		plain.Schema = nil
		if p.knows(k) {
			p.pass(ctx, plain, yield)
			return
		}
		if p.hold(ctx, r, yield) {
			return
		}
		if p.pass(ctx, plain, yield) { // it was the schema
			p.remember(k)
		}
	}
}

// hold passes a request on, unless it is refused before anything was shown: then it
// is not over, and the refusal of a request without the schema will say why.
func (p *structuredProvider) hold(ctx context.Context, r llm.Request, yield func(llm.Event) bool) (over bool) {
	shown := false
	for e := range p.next.Stream(ctx, r) {
		if e.Type == llm.Failed && !shown && fault.Is(e.Err, fault.ProviderBadRequest) {
			return false
		}
		shown = shown || e.Content()
		if !yield(e) || e.Terminal() {
			return true
		}
	}
	return true // a stream without an end: who is around it says so
}

// pass passes a request on, and says whether it was taken.
func (p *structuredProvider) pass(ctx context.Context, r llm.Request, yield func(llm.Event) bool) (taken bool) {
	for e := range p.next.Stream(ctx, r) {
		taken = e.Type == llm.Finished
		if !yield(e) {
			return false
		}
	}
	return taken
}

func (p *structuredProvider) knows(k key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[k]
}

func (p *structuredProvider) remember(k key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[k] = true
}
