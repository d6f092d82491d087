package decorate

import (
	"context"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"
	"sync"

	"ramet/internal/model/llm"
)

// sightProvider is the decorator.
type sightProvider struct {
	next  llm.Provider
	model func(string) llm.Model

	taken sync.Map // by mark: whether the vendor takes it, where that is known
}

// mark tells one image or document from another, cheaply.
type mark struct {
	model string
	size  int
	ends  uint32
}

// WithSight puts it around an adapter.
func WithSight(next llm.Provider, model func(string) llm.Model) llm.Provider {
	return &sightProvider{next: next, model: model}
}

// Stream implements llm.Provider.
func (p *sightProvider) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	all := streamMarks(r)
	if len(all) == 0 {
		return p.next.Stream(ctx, r)
	}
	known := p.model(r.Model)
	return func(yield func(llm.Event) bool) {
		shown := p.without(r, func(part llm.Part) string {
			switch {
			case part.Type == llm.Image && known.Known && !known.Images:
				return "which the model that you are cannot see"
			case part.Type == llm.Document && !known.PDF:
				return "which the model that you are cannot read"
			case p.refused(markOf(r.Model, part)):
				return "which your vendor did not take"
			}
			return ""
		})
		refusal, over := p.attempt(ctx, shown, yield)
		if over {
			return
		}
		doubtful := p.doubtful(streamMarks(shown))
		if len(doubtful) == 0 {
			yield(refusal)
			return
		}
		again := p.without(shown, func(part llm.Part) string {
			if slices.Contains(doubtful, markOf(r.Model, part)) {
				return "which your vendor did not take"
			}
			return ""
		})
		second, over := p.attempt(ctx, again, yield)
		if !over {
			yield(refusal) // it was not because of these
			return
		}
		if second.Type == llm.Finished {
			p.remember(doubtful, false)
		}
	}
}

// attempt passes on one attempt. A refusal of the request is held back.
func (p *sightProvider) attempt(ctx context.Context, r llm.Request, yield func(llm.Event) bool) (last llm.Event, over bool) {
	last, over = llm.PassOn(p.next.Stream(ctx, r), isBadRequest, yield)
	if last.Type == llm.Finished {
		p.remember(streamMarks(r), true)
	}
	return last, over
}

// without returns a request with sentences instead of what why names a reason for.
func (p *sightProvider) without(r llm.Request, why func(llm.Part) string) llm.Request {
	r.Messages = slices.Clone(r.Messages)
	for i, m := range r.Messages {
		copied := false
		for j, part := range m.Parts {
			if part.Type != llm.Image && part.Type != llm.Document {
				continue
			}
			reason := why(part)
			if reason == "" {
				continue
			}
			if !copied {
				r.Messages[i].Parts, copied = slices.Clone(m.Parts), true
			}
			r.Messages[i].Parts[j] = llm.Part{Type: llm.Text, Text: fmt.Sprintf("[%s of %d bytes, %s]", pictureName(part), len(part.Data), reason)}
		}
	}
	return r
}

func pictureName(p llm.Part) string {
	if p.Name == "" {
		return p.MediaType
	}
	return p.Name + ", " + p.MediaType
}

func streamMarks(r llm.Request) (out []mark) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if p.Type == llm.Image || p.Type == llm.Document {
				out = append(out, markOf(r.Model, p))
			}
		}
	}
	return out
}

func markOf(model string, p llm.Part) mark {
	const some = 4 << 10
	sum := crc32.ChecksumIEEE(p.Data[:min(some, len(p.Data))])
	return mark{model, len(p.Data), crc32.Update(sum, crc32.IEEETable, p.Data[max(0, len(p.Data)-some):])}
}

func (p *sightProvider) refused(m mark) bool {
	taken, known := p.taken.Load(m)
	return known && taken == false
}

// doubtful returns those that the vendor has never taken.
func (p *sightProvider) doubtful(all []mark) (out []mark) {
	for _, m := range all {
		if taken, _ := p.taken.Load(m); taken != true {
			out = append(out, m)
		}
	}
	return out
}

func (p *sightProvider) remember(all []mark, taken bool) {
	for _, m := range all {
		p.taken.Store(m, taken)
	}
}
