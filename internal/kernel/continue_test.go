package kernel

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAgainEndsWithItsDeadlineAndItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		if !again(ctx, time.Now().Add(time.Minute)) {
			t.Error("a minute is left, and it gives up")
		}
		if again(ctx, time.Now()) {
			t.Error("it tries again after the deadline")
		}
		cancel()
		if again(ctx, time.Now().Add(time.Minute)) {
			t.Error("it tries again after the stop")
		}
	})
}
