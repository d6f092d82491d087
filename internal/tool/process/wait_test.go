package process_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ramet/internal/id"
	"ramet/internal/tool"
)

type woken struct {
	answer tool.Answer
	err    error
}

// sleeps has an agent wait, and returns when it is asleep.
func (w *world) sleeps(ctx context.Context, a id.Agent, args string) chan woken {
	for len(w.asleep) > 0 {
		<-w.asleep
	}
	done := make(chan woken, 1)
	go func() {
		answer, err := w.callAs(ctx, a, "w", "wait", args)
		done <- woken{answer, err}
	}()
	<-w.asleep
	return done
}

func TestWaitWakesWithALetter(t *testing.T) {
	w := newWorld(t)
	a, b := w.child(w.zero, "a"), w.child(w.zero, "b")
	done := w.sleeps(t.Context(), w.zero, `{}`)
	w.does(a, "send", `{"to":"0","text":"x"}`)
	if got := <-done; got.err != nil || got.answer != (tool.Answer{Text: "1 letter unread, from a (" + a.Short() + "). Use read_mail to read; the oldest is number 1."}) {
		t.Errorf("%+v", got)
	}
	// What lies there already is enough, and stays unread.
	if got := w.does(w.zero, "wait", `{"from":"a","timeout":0}`); !strings.HasPrefix(got, "1 letter unread") {
		t.Error(got)
	}
	// Only the sender that is waited for wakes.
	done = w.sleeps(t.Context(), w.zero, `{"from":"b","timeout":3600}`)
	w.does(a, "send", `{"to":"0","text":"y"}`)
	<-w.asleep // looked, and sleeps again
	w.does(b, "send", `{"to":"0","text":"z"}`)
	if got := <-done; got.err != nil || !strings.HasPrefix(got.answer.Text, "1 letter unread, from b (") {
		t.Errorf("%+v", got)
	}
	done = w.sleeps(t.Context(), w.zero, `{"from":"you"}`)
	w.userWrites(w.zero, "me")
	if got := <-done; got.err != nil || !strings.HasPrefix(got.answer.Text, "1 letter unread, from you (the user).") {
		t.Errorf("%+v", got)
	}
	got, want := w.does(w.zero, "wait", `{"from":""}`), fmt.Sprintf(
		"4 letters unread, from a (%s), b (%s), you (the user). Use read_mail to read; the oldest is number 1.", a.Short(), b.Short())
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if w.waits[0] != 600*time.Second || w.waits[1] != 0 || w.waits[2] != time.Hour {
		t.Errorf("%v", w.waits)
	}
}

func TestWaitEndsWithoutALetter(t *testing.T) {
	w := newWorld(t)
	a := w.child(w.zero, "a")
	for args, says := range map[string]string{
		`{"timeout":0}`:                "No mail came within 0s.",
		`{"timeout":0.001,"from":"a"}`: "No mail from a came within 1ms.",
	} {
		if answer, err := w.call(w.zero, "wait", args); err != nil || answer != (tool.Answer{Text: says}) {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	w.refused(w.zero, "wait", `{"timeout":3601}`, "from 0 to 3600")
	w.refused(w.zero, "wait", `{"timeout":-1}`, "from 0 to 3600")
	w.refused(a, "wait", `{"from":"a"}`, "That is you")
	w.refused(a, "wait", `{"from":"nobody"}`, "no agent")
	w.refused(w.zero, "wait", `{"from":"parent"}`, "no parent")

	ctx, cancel := context.WithCancel(t.Context())
	done := w.sleeps(ctx, w.zero, `{}`)
	cancel()
	if got := <-done; !errors.Is(got.err, context.Canceled) {
		t.Errorf("%+v", got)
	}
}

func TestNobodyWaitsForTheDead(t *testing.T) {
	w := newWorld(t)
	a, b := w.child(w.zero, "a"), w.child(w.zero, "b")
	w.does(a, "send", `{"to":"0","text":"last words"}`)
	w.kills(a)
	if got := w.does(w.zero, "wait", `{"from":"a"}`); !strings.HasPrefix(got, "1 letter unread") {
		t.Error(got)
	}
	w.drop(w.zero)
	waits := len(w.waits)
	w.refused(w.zero, "wait", `{"from":"a"}`, "a ("+a.Short()+") is dead since", "(enough)", "will not write")
	if len(w.waits) != waits {
		t.Error("it slept")
	}
	// One dies while somebody waits for it: the kernel says so.
	done := w.sleeps(t.Context(), w.zero, `{"from":"b"}`)
	w.kills(b)
	w.userWrites(w.zero, "any news wakes")
	if got := <-done; got.err != nil || !got.answer.IsError || !strings.Contains(got.answer.Text, "will not write") {
		t.Errorf("%+v", got)
	}
}
