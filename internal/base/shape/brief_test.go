package shape

import "testing"

func TestBriefLeavesOutWhatAModelDoesNotNeed(t *testing.T) {
	s := Object(Must("path", Text(1).With("the file")), May("limit", Range(1, 5)), May("rare", Bool()).Untold(),
		May("items", List(Object(Must("a", Text(0)))).AtMost(3)), May("either", Either(Text(0), Null())))
	const want = `{"properties":{"either":{"anyOf":[{"type":"string"},{"type":"null"}]},"items":{"items":{"properties":{"a":{"type":"string"}},"type":"object"},"maxItems":3,"type":"array"},` +
		`"limit":{"type":"integer"},"path":{"description":"the file","type":"string"}},"required":["path"],"type":"object"}`
	if got := string(s.Brief()); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}
