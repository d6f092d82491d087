package driver

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// stand is what a history tells of a driver's session.
type stand struct {
	Place
	mark    id.Message // the newest entry of the session; 0: there is none to go on with
	unheard []history.Entry
	cut     bool // the last turn of the session did not end
}

// How many entries are read at once: mostly the last turn ended with the session, and little was said since.
const (
	lookFirst = 8
	lookBack  = 64
)

// find reads the end of an agent's history: which session of the driver it can go on with, and
// what that has not heard. Only as much is read as there is behind the session's last entry.
func find(ctx context.Context, log history.Log, a id.Agent, driver string) (stand, error) {
	var out stand
	ranges, err := history.BuildRanges(ctx, log, a)
	if err != nil {
		return out, err
	}
	for i := len(ranges) - 1; i >= 0; i-- {
		r := ranges[i]
		for many := lookFirst; ; many = lookBack {
			page, err := history.Newest(ctx, log, r, many)
			if err != nil {
				return out, err
			}
			for _, e := range page {
				m, err := e.Decode()
				if err != nil {
					return out, err
				}
				switch {
				case m.Source != "":
					return out.brought(ctx, log, a, e, driver)
				case m.Driver != nil && m.Driver.Name == driver && m.Driver.Session != "":
					return out.at(ctx, log, a, e, *m.Driver)
				case e.Kind == history.Assistant, e.Kind == history.Rewind, e.Kind == history.Compact, e.Kind == history.Redact:
					return out, nil // another one spoke since, or the context is another
				case e.Kind == history.Interrupted:
					out.cut = true
				case e.Kind == history.User, e.Kind == history.Notice, e.Kind == history.System:
					out.unheard = append([]history.Entry{e}, out.unheard...)
				}
			}
			if len(page) < many || page[len(page)-1].ID <= r.Start+1 {
				break
			}
			r.End = history.UpTo(page[len(page)-1].ID - 1)
		}
	}
	return out, nil
}

// at is a session whose newest entry in the context is e.
func (s stand) at(ctx context.Context, log history.Log, a id.Agent, e history.Entry, d history.Driver) (stand, error) {
	s.mark, s.cut = e.ID, s.cut || e.Kind != history.Usage // with which each turn ends that ends well
	if e.Agent == a {
		s.Resume = d.Session
		return s, nil
	}
	// An ancestor's: it can be forked if it ended a turn there, and has said nothing since.
	ended := e.Kind == history.Usage
	since, err := history.Newest(ctx, log, history.Range{Agent: e.Agent, Start: e.ID}, lookBack)
	if err != nil {
		return s, err
	}
	for _, later := range since {
		m, err := later.Decode()
		if err != nil {
			return s, err
		}
		ended = ended && (m.Driver == nil || m.Driver.Session == "") // calls on the wire are not of the session
	}
	if ended {
		s.Fork = d.Session
	}
	return s, nil
}

// heading is how many entries of an agent may stand before the one that says that it was
// imported.
const heading = 5

// brought is a session of the driver's own program that was imported: its last line is e, and
// nobody has spoken since. It goes on under its own name, in its own agent; a branch of it, or
// a part, is told in words.
func (s stand) brought(ctx context.Context, log history.Log, a id.Agent, e history.Entry, driver string) (stand, error) {
	if e.Agent != a {
		return s, nil
	}
	n := 0
	for first, err := range log.QueryRange(ctx, history.Range{Agent: a}, history.Selection{}) {
		if err != nil {
			return s, err
		}
		if n++; n > heading {
			break
		}
		m, err := first.Decode()
		if err != nil {
			return s, err
		}
		if m.Import != nil && m.Import.Program == driver && !m.Import.Part() {
			s.mark, s.Resume = e.ID, m.Import.Session
			return s, nil
		}
	}
	return s, nil
}
