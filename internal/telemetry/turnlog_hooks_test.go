package telemetry_test

import (
	"slices"
	"testing"

	"ramet/internal/core/history"
)

func hooked(event, outcome string) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: "hook", Hook: &history.Hook{Event: event, Program: "check", From: "config.toml", Outcome: outcome, TookMS: 3}}}
}

// A hook is a gate below its turn, also one that ran before the turn began.
func TestAHookIsARecordBelowItsTurn(t *testing.T) {
	s := newScene(t)
	s.append(s.zero(), hooked("UserPromptSubmit", "passed"))
	s.say(s.zero(), "go")
	s.append(s.zero(), hooked("PreToolUse", "objected"))
	s.used(s.zero(), "stop")
	s.append(s.zero(), hooked("Stop", "failed"))
	got := s.follow(6)
	var statuses []string
	for _, one := range got {
		if one.JobType == "gate" {
			statuses = append(statuses, one.Status)
			if one.ParentRunID == "" {
				t.Errorf("%+v has no turn", one)
			}
		}
	}
	if want := []string{"success", "success", "failure"}; !slices.Equal(statuses, want) || got[0].JobType != "worker" {
		t.Errorf("%+v", got)
	}
}
