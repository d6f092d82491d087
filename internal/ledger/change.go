package ledger

import (
	"context"

	"ramet/internal/base/durable"
)

// pendingChange is a change that waits. do returns the id that the pointer is to name from then on, or ""; with an
// error it has changed nothing.
type pendingChange struct {
	do     func(*Sheet) (point string, err error)
	repair RepairResult
	err    error
	over   chan struct{} // closed when repair and err are final
}

// change makes a change, together with those that wait: the caller that has the turn makes them all.
func (f *Folder) change(ctx context.Context, do func(*Sheet) (point string, err error)) (RepairResult, error) {
	own := &pendingChange{do: do, over: make(chan struct{})}
	f.mu.Lock()
	f.waiting = append(f.waiting, own)
	f.mu.Unlock()
	select {
	case <-own.over:
		return own.repair, own.err
	case f.turn <- struct{}{}:
	}
	defer func() { <-f.turn }()
	f.mu.Lock()
	steps := f.waiting
	f.waiting = nil
	f.mu.Unlock()
	if len(steps) > 1 { // which do not end with this caller
		ctx = context.WithoutCancel(ctx)
	}
	if len(steps) > 0 {
		repair, err := f.applyAll(ctx, steps)
		for _, s := range steps {
			if s.repair = repair; s.err == nil {
				s.err = err
			}
			close(s.over)
		}
	}
	return own.repair, own.err
}

// applyAll reads, repairs, changes and writes under the lock.
func (f *Folder) applyAll(ctx context.Context, steps []*pendingChange) (r RepairResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	if err := f.gate.Stays(); err != nil {
		return r, err
	}
	err = durable.While(ctx, f.path(), func() error {
		var sheet *Sheet
		if sheet, r, err = f.restore(); err != nil {
			return err
		}
		if err := sheet.Writable(); err != nil {
			return err
		}
		point, later, failed := "", false, 0
		for _, s := range steps {
			var to string
			switch to, s.err = s.do(sheet); {
			case s.err != nil:
				failed++
			case to != "":
				point, later = to, false
			default:
				later = true
			}
		}
		if failed == len(steps) {
			return nil // each has its error
		}
		if sheet.Changed() {
			if err := f.save(sheet.Format()); err != nil {
				return err
			}
		}
		if point != "" {
			f.removeLeftovers()
		}
		r.Entries = sheet.Len()
		if r.Pointer, err = f.point(sheet, point); err != nil || point == "" || !later {
			return err
		}
		again, err := f.point(sheet, "") // its agent may have ended since
		r.Pointer = r.Pointer || again
		return err
	})
	return r, err
}
