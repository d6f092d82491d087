package sandbox

import (
	"io"
	"os"
	"sync/atomic"
	"time"
)

// lull is the time for which the output must be silent, after the end of the command, before
// it is taken to be complete. It matters only where somebody who outlives the
// command, such as a daemon, was handed the pipe.
const lull = 250 * time.Millisecond

// drain hands on what comes out of a pipe. The command can always write, so that a
// writer which fails does not stop it.
type drain struct {
	pipe *os.File
	dead atomic.Bool
	done chan struct{}
}

func newDrain(pipe *os.File, to io.Writer) *drain {
	d := &drain{pipe: pipe, done: make(chan struct{})}
	go d.run(to)
	return d
}

func (d *drain) run(to io.Writer) {
	defer close(d.done)
	buf := make([]byte, 64<<10)
	for {
		if d.dead.Load() {
			d.pipe.SetReadDeadline(time.Now().Add(lull))
		}
		n, err := d.pipe.Read(buf)
		if n > 0 && to != nil {
			if _, failed := to.Write(buf[:n]); failed != nil {
				to = nil
			}
		}
		if err != nil {
			return
		}
	}
}

// finish waits until all is handed on, after the command's end.
func (d *drain) finish() {
	d.dead.Store(true)
	d.pipe.SetReadDeadline(time.Now().Add(lull))
	<-d.done
}
