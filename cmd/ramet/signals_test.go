package main

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// A context is asked for its end by whoever waits; then a signal ends it, and what was made of it.
func TestSignalsAreCaughtOnceSomebodyWaits(t *testing.T) {
	s := &signals{Context: context.Background()}
	if s.Err() != nil || s.Value("x") != nil || s.caught != nil {
		t.Fatal("it catches signals before anybody waits")
	}
	below, stop := context.WithCancelCause(s)
	defer stop(nil)
	if s.caught == nil {
		t.Fatal("somebody could wait, and no signal is caught")
	}
	me := testkit.Must(os.FindProcess(os.Getpid()))(t)
	testkit.OK(t, me.Signal(syscall.SIGTERM))
	<-below.Done()
	if s.Err() != context.Canceled || below.Err() != context.Canceled {
		t.Error(s.Err(), below.Err())
	}
	if cause := context.Cause(below); cause == nil || !strings.Contains(cause.Error(), "terminated") {
		t.Errorf("ended by %v", cause)
	}
}
