package tui

import (
	"testing"

	"ramet/internal/core/history"
)

// A call that was cut off before its vendor counted anything says nothing about the context: the last
// figure stays, now and after a restart.
func TestTheContextSurvivesAnInterruption(t *testing.T) {
	s := family()
	s.say("zero", history.User, words("go on"))
	s.write("zero", Entry{Entry: history.Entry{Kind: history.Interrupted}})
	s.write("zero", Entry{Entry: history.Entry{Kind: history.Usage}, About: history.Meta{Call: &history.Call{Model: "offline/offline", Outcome: "CANCELLED"}}})
	perform(t, s, 80, 24).shows("context 6%")
}
