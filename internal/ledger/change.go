package ledger

import (
	"context"
	"slices"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
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
	return f.await(ctx, f.enqueue(do))
}

// enqueue adds a change to those that are made together with the next one.
func (f *Folder) enqueue(do func(*Sheet) (point string, err error)) *pendingChange {
	s := &pendingChange{do: do, over: make(chan struct{})}
	f.mu.Lock()
	f.waiting = append(f.waiting, s)
	f.mu.Unlock()
	return s
}

// await returns when a change that was enqueued is made.
func (f *Folder) await(ctx context.Context, s *pendingChange) (RepairResult, error) {
	// Within one process changes wait in order, as long as their callers like. The wait for other processes has a
	// limit of its own.
	select {
	case f.turn <- struct{}{}:
		f.serve(ctx, s)
		<-f.turn
	case <-s.over:
	case <-ctx.Done():
		if f.withdraw(s) {
			return RepairResult{}, fault.New(fault.Cancelled, "wait for the ledger %s: %w", f.dir, ctx.Err())
		}
	}
	<-s.over
	return s.repair, s.err
}

// withdraw takes a change back, and reports whether it was still waiting.
func (f *Folder) withdraw(s *pendingChange) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.waiting, s)
	if i >= 0 {
		f.waiting = slices.Delete(f.waiting, i, i+1)
	}
	return i >= 0
}

// serve makes the changes that wait, if that of the caller is among them.
func (f *Folder) serve(ctx context.Context, own *pendingChange) {
	f.mu.Lock()
	steps := f.waiting
	if !slices.Contains(steps, own) {
		steps = nil // another did it meanwhile
	} else {
		f.waiting = nil
	}
	f.mu.Unlock()
	if steps == nil {
		return
	}
	repair, err := f.applyAll(ctx, steps)
	if fault.Is(err, fault.Cancelled) && len(steps) > 1 {
		// This caller stopped waiting for the lock. The others have not.
		f.mu.Lock()
		f.waiting = append(slices.DeleteFunc(slices.Clone(steps), func(s *pendingChange) bool { return s == own }), f.waiting...)
		f.mu.Unlock()
		steps = []*pendingChange{own}
	}
	for _, s := range steps {
		if s.repair = repair; s.err == nil {
			s.err = err
		}
		close(s.over)
	}
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
