package session

import (
	"slices"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

func TestOverlappingRangesAreMerged(t *testing.T) {
	of := func(a id.Agent, start, end id.Message) history.Range {
		return history.Range{Agent: a, Start: start, End: history.UpTo(end)}
	}
	for _, c := range []struct {
		name     string
		in, want []history.Range
	}{
		{"none", nil, nil},
		{"one within another", []history.Range{of("a", 0, 9), of("a", 2, 5)}, []history.Range{of("a", 0, 9)}},
		{"overlapping, in any order", []history.Range{of("a", 4, 9), of("a", 0, 5)}, []history.Range{of("a", 0, 9)}},
		{"touching", []history.Range{of("a", 0, 5), of("a", 5, 9)}, []history.Range{of("a", 0, 9)}},
		{"apart", []history.Range{of("a", 0, 4), of("a", 5, 9)}, []history.Range{of("a", 0, 4), of("a", 5, 9)}},
		{"two agents", []history.Range{of("b", 0, 9), of("a", 0, 9)}, []history.Range{of("a", 0, 9), of("b", 0, 9)}},
		{"without an end", []history.Range{{Agent: "a"}, of("a", 3, 9)}, []history.Range{{Agent: "a"}}},
	} {
		if got := mergeRanges(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
