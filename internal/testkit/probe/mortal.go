package probe

import (
	"context"
	"os"

	"ramet/internal/run"
	"ramet/internal/runner"
)

// mortal is a log with a last event. Of several that are written together only the first
// may have reached the disk.
type mortal struct {
	runner.Log
	last int64
}

func (m mortal) Append(ctx context.Context, requests ...run.Request) ([]run.Event, error) {
	left := m.last - m.Now().EventCount
	dies := left <= int64(len(requests))
	if dies {
		requests = requests[:max(0, left)]
	}
	events, err := m.Log.Append(ctx, requests...)
	if dies && err == nil {
		die()
	}
	return events, err
}

// die ends this process as SIGKILL does.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
		select {}
	}
}
