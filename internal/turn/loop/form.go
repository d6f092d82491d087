package loop

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
)

// fits holds the last word of the model against the schema that it was to fit. One
// that does not is asked for once more, with the reason and without calls; a second
// one is OUTPUT_INVALID.
func (r *turn) fits(ctx context.Context) (again bool, err error) {
	if r.Schema == nil {
		return false, nil
	}
	said := Unfence(r.out.Text)
	why := r.Schema.Check([]byte(said))
	switch {
	case why == nil:
		r.out.Text = said
		return false, nil
	case r.mending:
		return false, r.stop(ctx, fault.New(fault.OutputInvalid, "the answer does not fit the schema: %v", why).
			WithHint("ask for less at once, or ask another model; `ramet log` shows what it said"))
	}
	r.mending = true
	return true, r.write(ctx, Notice("Your answer does not fit what was asked for: "+r.kept(why.Error())+". "+r.Schema.Ask()))
}

// Unfence takes a Markdown fence from around a whole answer: models like to put one
// there.
func Unfence(said string) string {
	inner := strings.TrimSpace(said)
	if !strings.HasPrefix(inner, "```") || !strings.HasSuffix(inner, "\n```") {
		return inner
	}
	_, inner, ok := strings.Cut(inner, "\n")
	if !ok {
		return strings.TrimSpace(said)
	}
	inner = strings.TrimSuffix(inner, "```")
	if strings.Contains(inner, "\n```") {
		return strings.TrimSpace(said)
	}
	return strings.TrimSpace(inner)
}
