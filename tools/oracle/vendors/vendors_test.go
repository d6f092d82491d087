package vendors

import (
	"testing"
)

func TestStreams(t *testing.T) {
	all, err := Read()
	if err != nil {
		t.Skipf("the recordings are not at hand: %v", err)
	}
	stage := NewStage(all)
	defer stage.Close()
	count := map[Protocol]int{}
	for n, r := range all {
		count[r.Protocol]++
		ours, theirs := Ours(t.Context(), r.Protocol, stage.Base(n)), Judge(t.Context(), r.Protocol, stage.Base(n))
		for field, why := range ours.Differences(theirs) {
			t.Errorf("%s %s (%s): %s: %s", r.Protocol, r.Name, r.Host, field, why)
		}
	}
	t.Log(count)
}
