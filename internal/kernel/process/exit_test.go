package process_test

import (
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
)

func TestExitMailsAndEnds(t *testing.T) {
	w := newWorld(t)
	a, b := w.child(w.zero, "a"), w.child(w.zero, "b")
	w.append(a, history.Draft{Kind: history.Assistant, Parts: []history.Part{{Type: history.ToolCall, CallID: "x", Name: "exit", Args: []byte(`{}`)}}})
	answer, err := w.call(a, "exit", `{"result":"all done"}`)
	if err != nil || answer.IsError || !answer.Ends || !answer.Recorded {
		t.Errorf("%+v, %v", answer, err)
	}
	if got := w.own(a); got != "fork assistant mail killed" {
		t.Error(got)
	}
	if row := w.row(a); row.Status != agent.Dead || row.EndReason != "exited" {
		t.Errorf("%+v", row)
	}
	if got := w.box(w.zero); len(got) != 1 || got[0].Body != "all done" || got[0].From != a {
		t.Errorf("%+v", got)
	}
	if answer, err := w.call(b, "exit", `{}`); err != nil || !answer.Ends || w.row(b).Status != agent.Dead {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestExitRefuses(t *testing.T) {
	w := newWorld(t)
	a := w.child(w.zero, "a")
	w.refused(w.zero, "exit", `{"result":"x"}`, "agent 0")
	w.refused(a, "exit", `{"result":"`+strings.Repeat("x", mail.MaxBody+1)+`"}`, "65537 bytes")
	w.refused(a, "exit", `{"result":"a\u0000"}`, "NUL")
	w.fail = fault.New(fault.Fenced, "lost")
	if answer, err := w.call(a, "exit", `{}`); !fault.Is(err, fault.Fenced) || answer.Ends {
		t.Errorf("%+v, %v", answer, err)
	}
	for _, who := range []id.Agent{a, w.zero} {
		if w.row(who).Status != agent.Running {
			t.Errorf("%s is dead", who)
		}
	}
}
