package history

import (
	"context"
	"slices"

	"ramet/internal/base/id"
)

// FirstAfter returns at most so many entries of some ranges after a message, oldest first, and reports whether there
// are more. The ranges are in order.
func FirstAfter(ctx context.Context, log Log, ranges []Range, after id.Message, limit int) (found []Entry, more bool, err error) {
	for _, r := range ranges {
		if r.Start = max(r.Start, after); !r.End.Admits(r.Start + 1) {
			continue
		}
		for e, err := range log.QueryRange(ctx, r, Selection{}) {
			if err != nil || len(found) == limit {
				return found, err == nil, err
			}
			found = append(found, e)
		}
	}
	return found, false, nil
}

// LastBefore returns at most so many entries of some ranges before a message (0: the last of all), newest first, and
// reports whether there are more. The ranges are in order.
func LastBefore(ctx context.Context, log Log, ranges []Range, before id.Message, limit int) (found []Entry, more bool, err error) {
	for _, r := range slices.Backward(ranges) {
		if before > 0 {
			r.End = r.End.Min(UpTo(before - 1))
		}
		if !r.End.Admits(r.Start + 1) {
			continue
		}
		for e, err := range log.QueryRange(ctx, r, Selection{Newest: limit + 1 - len(found), Any: true}) {
			if err != nil {
				return found, false, err
			}
			found = append(found, e)
		}
		if len(found) > limit {
			return found[:limit], true, nil
		}
	}
	return found, false, nil
}

// Newest returns the last entries of one range, newest first.
func Newest(ctx context.Context, log Log, r Range, most int) ([]Entry, error) {
	found, _, err := LastBefore(ctx, log, []Range{r}, 0, most)
	return found, err
}
