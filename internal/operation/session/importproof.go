package session

import (
	"bytes"
	"context"
	"slices"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
)

// Sourced is the proof that entries are what a file says.
type Sourced struct {
	Agent    agent.Agent
	Imported history.Imported
	Entries  int // that are exactly what their lines say
	Lines    int64
	Redacted int
	Since    int64 // bytes that the file grew by since
}

// Sourced compares an import with its file, entry by entry: each is what its lines say, no
// line is in two, none that says something is in none. HISTORY_DAMAGED: it is not so.
func (w History) CompareSource(ctx context.Context, f foreign.Found) (Sourced, error) {
	m, err := w.Imports(ctx)
	if err != nil {
		return Sourced{}, err
	}
	now, err := foreign.Open(ctx, f, 0)
	if err != nil {
		return Sourced{}, err
	}
	defer now.Close()
	list := m.known[now.Program+"/"+now.ID]
	if len(list) == 0 {
		return Sourced{}, fault.New(fault.NotFound, "session %s of %s was not imported into this workspace", now.ID, now.Program).
			WithHint("`ramet import %s` does it", f.Path)
	}
	for _, b := range slices.Backward(list) {
		h, err := m.load(ctx, b, func(history.Bytes, position) {})
		if err != nil {
			return Sourced{}, err
		}
		if sum, ok, err := now.Prefix(h.newest.Bytes); err != nil {
			return Sourced{}, err
		} else if !ok || sum != h.newest.SHA256 {
			continue
		}
		out := Sourced{Agent: m.agents[b.agent], Imported: h.newest, Since: now.Bytes - h.newest.Bytes}
		src, err := as(ctx, now, f, h.newest.Importer)
		if err != nil {
			return out, err
		}
		defer src.Close()
		err = w.compareSource(ctx, src, h, &out)
		return out, err
	}
	return Sourced{}, fault.New(fault.HistoryDamaged, "%s is not the file that was imported: its SHA-256 is another", f.Path).
		WithHint("it was changed since, or it is another copy; `ramet log --own` of the agent tells which was imported")
}

// as is a source as the reader of a version reads it: entries are compared with what made them.
func as(ctx context.Context, src *foreign.Source, f foreign.Found, reader int) (*foreign.Source, error) {
	if src.Reader == reader {
		return src, nil
	}
	f.Reader = reader
	return foreign.Open(ctx, f, 0)
}

// compareSource holds all entries of an import against the source.
func (w History) compareSource(ctx context.Context, src *foreign.Source, h *held, out *Sourced) error {
	seen := make([]bool, src.Records())
	for a := range h.tips {
		for e, err := range w.ws.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{}) {
			if err != nil {
				return err
			}
			meta, err := e.Decode()
			if err != nil {
				return err
			}
			at, ok := history.ParseBytes(meta.Source)
			if !ok {
				continue
			}
			for _, one := range at {
				i, ok := src.Index(one.Offset)
				if !ok {
					return fault.New(fault.HistoryDamaged, "agent %s message %d: no line begins at byte %d", a, e.ID, one.Offset)
				}
				if seen[i] {
					return fault.New(fault.HistoryDamaged, "agent %s message %d: the line at byte %d is in another entry too", a, e.ID, one.Offset)
				}
				seen[i] = true
			}
			if e.Content == nil {
				out.Redacted++
				continue
			}
			if err := w.same(src, e, meta, at); err != nil {
				return err
			}
			out.Entries++
		}
	}
	for i, at := range src.Stretches() {
		if at.Offset < h.newest.Bytes && !seen[i] {
			return fault.New(fault.HistoryDamaged, "the line at byte %d of %s is in no entry", at.Offset, src.Path).
				WithHint("repeat the command to continue an interrupted import")
		}
	}
	out.Lines = h.newest.Lines
	return nil
}

// same compares one entry with its lines.
func (w History) same(src *foreign.Source, e history.Entry, meta history.Meta, at []history.Bytes) error {
	wrong := fault.New(fault.HistoryDamaged, "agent %s message %d is not what its lines say (bytes %s)", e.Agent, e.ID, meta.Source)
	said, err := src.Read(at)
	if err != nil {
		return wrong
	}
	if e.Kind == history.Rewind {
		if said.Kind != history.Rewind {
			return wrong
		}
		return nil
	}
	draft := w.ws.Store.Drafts([]history.Draft{{Kind: said.Kind, Parts: said.Parts}})[0]
	content, _, err := history.Encode(draft.Parts)
	shaped := said.Kind == history.Compact && e.Kind == history.User || said.Kind == history.Rewind && e.Kind == history.Note
	if err != nil || said.Kind != e.Kind && !shaped || said.Time != meta.OriginalTime || said.Kind != history.Rewind && !bytes.Equal(content, e.Content) {
		return wrong
	}
	return nil
}
