package probe

import (
	"context"
	"os"

	"ramet/internal/runner"
)

// mortal is a log with a last event. Of several that are written together only the first
// may have reached the disk.
type mortal struct {
	runner.Log
	last int64
}

func (m mortal) Append(ctx context.Context, records ...runner.Record) error {
	left := m.last - m.Now().EventCount
	dies := left <= int64(len(records))
	if dies {
		records = records[:max(0, left)]
	}
	err := m.Log.Append(ctx, records...)
	if dies && err == nil {
		die()
	}
	return err
}

// die ends this process as SIGKILL does.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Kill() == nil {
		select {}
	}
}
