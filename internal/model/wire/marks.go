package wire

import "slices"

// Marks keeps four of the messages after which a cache is to begin, as many as
// Anthropic's protocol allows: the first, which covers tools and system prompt,
// and the last three.
func Marks(after []int) []int {
	after = slices.Compact(slices.Sorted(slices.Values(after)))
	if len(after) > 4 {
		after = append(after[:1:1], after[len(after)-3:]...)
	}
	return after
}
