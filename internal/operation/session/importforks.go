package session

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// base is where a session stands that begins with a part of another one and says so by pointing at it; nil:
// that part is not here, which is told.
func (w *bringer) base(ctx context.Context) (*position, error) {
	base := w.src.Base
	up, ok := w.named(w.src.Program, base.Session)
	if !ok {
		w.note("it begins with %d bytes of session %s, which is not imported here: that part is missing", base.Bytes, base.Session)
		return nil, nil
	}
	type line struct {
		offset int64
		at     position
	}
	var before []line
	_, err := w.load(ctx, up, func(b history.Bytes, at position) {
		if b.Offset < base.Bytes {
			before = append(before, line{b.Offset, at})
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(before, func(a, b line) int { return int(b.offset - a.offset) })
	for _, l := range before[:min(len(before), mostBehind)] {
		if w.reachable(ctx, l.at) {
			return &l.at, nil
		}
	}
	w.note("it begins with %d bytes of session %s, which cannot be gone on from any more: that part is missing", base.Bytes, base.Session)
	return nil, nil
}

// mostBehind limits the lines after the last one that an agent can be at.
const mostBehind = 1000

// parent is whose child stands at a position, begins how it begins.
func (p *position) parent() id.Agent {
	if p == nil {
		return ""
	}
	return p.agent
}

func (p *position) begins() []history.Draft {
	if p == nil {
		return nil
	}
	return []history.Draft{history.NewRewind(p.message, "")}
}

// named finds the session that a pointer of Codex means: by the name of its file, which is another one than the
// session's where that was taken back to an earlier state, else by the session's.
func (m *Imports) named(program, name string) (brought, bool) {
	for key, list := range m.known {
		if !strings.HasPrefix(key, program+"/") {
			continue
		}
		for _, b := range slices.Backward(list) {
			if strings.HasSuffix(filepath.Base(b.first.Path), "-"+name+".jsonl") {
				return b, true
			}
		}
	}
	return m.of(program, name)
}
