package storetest

import (
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// testView: a context that is read in several steps is that of one moment, even
// when another connection clears it between two of them.
func testView(t *testing.T, w *Workspace) {
	d := open(t, w)
	d.say(d.zero, "one")
	d.say(d.zero, "two")
	testkit.OK(t, d.s.View(background, func(log history.Log) error {
		ranges, err := history.BuildRanges(background, log, d.zero)
		if err != nil {
			return err
		}
		if _, err := d.s.Append(background, d.zero, agent.Passing(), history.NewClear()); err != nil {
			return err
		}
		again, err := history.BuildRanges(background, log, d.zero)
		if err != nil {
			return err
		}
		equal(t, "ranges of the same moment", len(again), len(ranges))
		equal(t, "start of the same moment", again[0].Start, ranges[0].Start)
		c, err := history.Replay(background, log, d.zero)
		if err != nil {
			return err
		}
		equal(t, "messages of the same moment", len(c.Messages), 2)
		return nil
	}))
	c := testkit.Must(history.Replay(background, d.s, d.zero))(t)
	equal(t, "messages after the clear", len(c.Messages), 0)
}
