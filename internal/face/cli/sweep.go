package cli

import (
	"context"
	"strconv"
	"time"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// sweeping is what a gc is to take away.
type sweeping struct {
	blobs, files, worktrees, caches bool
	evidence, artifacts             []string // of these runs
	since                           time.Time
	most                            int64
	plan                            bool
}

// sweep does one kind after the other. An error ends it; what was done before is printed.
func sweep(l *Line, ctx context.Context, s sweeping) error {
	ws, err := l.Open(ctx)
	if err != nil {
		return err
	}
	out := sweptParts{public.Swept{Plan: s.plan, Parts: []public.SweptPart{}}}
	note := func(p public.SweptPart, err error) error {
		if err != nil {
			return err
		}
		out.Parts = append(out.Parts, p)
		out.Bytes += p.Bytes
		return nil
	}
	steps := []func() error{}
	add := func(asked bool, do func() (public.SweptPart, error)) {
		if asked {
			steps = append(steps, func() error { return note(do()) })
		}
	}
	add(s.blobs, func() (public.SweptPart, error) { return ws.Care().SweepBlobs(ctx, s.plan) })
	add(s.files, func() (public.SweptPart, error) {
		return ws.Care().SweepStates(ctx, session.Sweep{Since: s.since, Most: s.most, Plan: s.plan})
	})
	add(s.worktrees, func() (public.SweptPart, error) { return ws.Care().SweepTrees(ctx, s.plan) })
	add(s.caches, func() (public.SweptPart, error) { return ws.Care().SweepCaches(ctx, s.since, s.plan) })
	for _, runs := range []struct {
		ids       []string
		artifacts bool
	}{{s.evidence, false}, {s.artifacts, true}} {
		for _, id := range runs.ids {
			add(true, func() (public.SweptPart, error) {
				store, err := l.Runs("")
				if err != nil {
					return public.SweptPart{}, err
				}
				return l.SweepRun(ctx, store, id, runs.artifacts, s.plan)
			})
		}
	}
	for _, do := range steps {
		if err = do(); err != nil {
			break
		}
	}
	if err != nil && len(out.Parts) == 0 {
		return err
	}
	if shown := l.Print(out); err == nil {
		err = shown
	}
	return err
}

// sweptParts is the datum of gc over several kinds of things.
type sweptParts struct{ public.Swept }

// Text of what was swept.
func (d sweptParts) Text(w *printer.Writer) {
	did := map[bool]string{false: "dropped", true: "would drop"}[d.Plan]
	rows := [][]string{{"WHAT", "COUNT", "BYTES", "WHY"}}
	for _, p := range d.Parts {
		rows = append(rows, []string{p.What, strconv.Itoa(p.Count), strconv.FormatInt(p.Bytes, 10), text.Safe(p.Why)})
	}
	w.Table(rows)
	for _, p := range d.Parts {
		for _, k := range p.Kept {
			w.Line("kept  %s  %v", text.Name(k.Path), w.Dim(text.Safe(k.Why)))
		}
	}
	w.Line("%s %d bytes", did, d.Bytes)
}
