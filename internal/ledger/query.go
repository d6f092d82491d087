package ledger

import "time"

// Find returns the entry that an id means: the newest live one, else the newest.
func (s *Sheet) Find(id string) (Entry, bool) {
	found := -1
	if id == "" {
		return Entry{}, false
	}
	for i := len(s.rows) - 1; i >= 0; i-- {
		r := s.rows[i]
		switch {
		case !r.ok || r.ID != id:
		case r.Status.Live():
			return s.entry(i), true
		case found < 0:
			found = i
		}
	}
	if found < 0 {
		return Entry{}, false
	}
	return s.entry(found), true
}

// Pointer returns the id that current-agent-id.txt should name instead of named: the same, or the entry that resumed
// it, while that one can still change; none once it has ended. If named is not in the file, it is the newest spawned
// entry.
func (s *Sheet) Pointer(named string) (id string, ok bool) {
	e, known := s.Find(named)
	if known {
		e = s.Outcome(e)
	}
	switch {
	case !known:
		e, ok := s.Newest()
		return e.ID, ok
	case e.Status.Live(), !e.Status.Known():
		return e.ID, true
	}
	return "", false
}

// Active returns the entry that the pointer names, or without a pointer the newest spawned one.
func (s *Sheet) Active(named string) (Entry, bool) {
	if named == "" {
		return s.Newest()
	}
	id, ok := s.Pointer(named)
	if !ok {
		return Entry{}, false
	}
	return s.Find(id)
}

// Newest returns the newest spawned entry.
func (s *Sheet) Newest() (Entry, bool) {
	return s.newest(func(e Entry) bool { return e.Status == Spawned })
}

// Interrupted returns the newest entry that can be resumed: interrupted, or spawned and gone.
func (s *Sheet) Interrupted(judge Judge) (Entry, bool) {
	return s.newest(func(e Entry) bool {
		if e.Status == Spawned {
			_, gone := judge(e)
			return gone
		}
		return e.Status == Interrupted
	})
}

func (s *Sheet) newest(fits func(Entry) bool) (Entry, bool) {
	for i := len(s.rows) - 1; i >= 0; i-- {
		if e := s.entry(i); s.rows[i].ok && fits(e) {
			return e, true
		}
	}
	return Entry{}, false
}

// Plan returns the entries of a plan, oldest first.
func (s *Sheet) Plan(plan string) []Entry {
	out := []Entry{}
	for _, e := range s.Entries() {
		if e.Plan == plan {
			out = append(out, e)
		}
	}
	return out
}

// Outcome returns the last entry of the chain of resumes that an entry of this sheet is in.
func (s *Sheet) Outcome(e Entry) Entry { return s.entry(s.lasts()[e.at]) }

// Outcomes returns Outcome for all entries, found in one walk.
func (s *Sheet) Outcomes() func(Entry) Entry {
	last := s.lasts()
	return func(e Entry) Entry { return s.entry(last[e.at]) }
}

// Sweep marks every spawned entry that is gone as interrupted, and returns those.
func (s *Sheet) Sweep(judge Judge, now time.Time) []Entry {
	var out []Entry
	for i, r := range s.rows {
		if !r.ok || r.Status != Spawned {
			continue
		}
		e := s.entry(i)
		if why, gone := judge(e); gone {
			moved, _ := e.Move(Interrupted, why, now) // which spawned always allows
			out = append(out, s.put(moved, nil))
		}
	}
	return out
}
