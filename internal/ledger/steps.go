package ledger

import (
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Start describes a sub-agent before it starts.
type Start struct {
	ID          string // ours, allocated before the start
	Type        string
	Plan        string
	Group       string
	Description string // "Execute plan NN: GROUP" if empty
	Owner       *Owner
	Minutes     float64 // allowed; 0 is no limit
	Extra       []Member
}

var form = text.Regexp(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$`)

// maxText is the longest of our texts, in bytes.
const maxText = 64 << 10

// Check refuses a description that cannot be recorded.
func (st Start) Check() error {
	if !form().MatchString(st.ID) {
		return fault.New(fault.InvalidID, "%.40q cannot be the id of a sub-agent", st.ID).
			WithHint("use up to 128 of A-Z a-z 0-9 . _ : @ -, beginning with a letter or digit")
	}
	for _, f := range []struct{ what, s string }{
		{"the type", st.Type}, {"the plan", st.Plan}, {"the group", st.Group}, {"the description", st.Description},
	} {
		if f.s == "" {
			continue
		}
		if err := fault.CheckText(fault.InvalidText, f.what, f.s, maxText); err != nil {
			return err
		}
	}
	if !(st.Minutes >= 0) || st.Minutes > MaxMinutes {
		return fault.New(fault.Usage, "a timeout of %v minutes makes no sense", st.Minutes).WithHint("give a positive number of minutes")
	}
	return nil
}

// describe returns the description, or the default one.
func (st Start) describe() string {
	switch {
	case st.Description != "":
		return st.Description
	case st.Group == "":
		return "Execute plan " + st.Plan
	}
	return "Execute plan " + st.Plan + ": " + st.Group
}

// Spawn registers a sub-agent. An id that is live is CONFLICT; one that has ended may be used again. Old entries over
// the limit are dropped.
func (s *Sheet) Spawn(st Start, now time.Time) (Entry, error) {
	if err := st.Check(); err != nil {
		return Entry{}, err
	}
	if err := s.free(st.ID); err != nil {
		return Entry{}, err
	}
	return s.begin(st, "", now), nil
}

// begin appends a new entry. It is never among those that the limit drops.
func (s *Sheet) begin(st Start, resumes string, now time.Time) Entry {
	s.add(Entry{ID: st.ID, Type: st.Type, Description: st.describe(), Plan: st.Plan, Group: st.Group,
		At: s.after(st.ID, now), Status: Spawned, Resumes: resumes, Owner: st.Owner, Minutes: st.Minutes}, st.Extra)
	s.Prune()
	return s.entry(len(s.rows) - 1)
}

// free refuses an id that is live.
func (s *Sheet) free(id string) error {
	e, ok := s.Find(id)
	switch {
	case !ok || !e.Status.Live():
		return nil
	case e.Status == Interrupted:
		return fault.New(fault.Conflict, "%s is interrupted, not ended", id).WithHint("continue it with `ramet track resume %s`, or use another id", id)
	}
	return fault.New(fault.Conflict, "%s is %s already", id, e.Status).WithHint("use another id, or end it first")
}

// after returns now, or a time later than every entry of the same id: (id, time) is the key.
func (s *Sheet) after(id string, now time.Time) time.Time {
	now = truncateTime(now)
	for i, r := range s.rows {
		if !r.ok || r.ID != id {
			continue
		}
		if at := s.entry(i).At; !now.After(at) {
			now = truncateTime(at).Add(time.Millisecond)
		}
	}
	return now
}

// Move sets a sub-agent to completed, failed, timeout or interrupted. It changes the newest live entry of that id.
// The same status twice changes nothing.
func (s *Sheet) Move(id string, to Status, reason string, now time.Time, extra ...Member) (Entry, error) {
	e, err := s.Get(id)
	if err != nil {
		return Entry{}, err
	}
	moved, err := e.Move(to, reason, now)
	if err != nil || moved.Status == e.Status {
		return e, err
	}
	return s.put(moved, extra), nil
}

// Move returns the entry after one step.
func (e Entry) Move(to Status, reason string, now time.Time) (Entry, error) {
	if e.Status == to {
		return e, nil
	}
	legal := false
	for _, s := range e.Status.Next() {
		legal = legal || s == to && to != Resumed // which only Resume sets
	}
	if !legal {
		return e, illegalStep(e, to)
	}
	if now = truncateTime(now); now.Before(e.At) {
		now = e.At // the clock went backwards
	}
	e.Status, e.EndedAt = to, now
	if reason != "" {
		e.Reason = reason
	}
	return e, nil
}

// Judge reports whether a spawned entry is gone, and why: its owner is dead, or its time is over.
type Judge func(Entry) (why string, gone bool)

// Resume registers a sub-agent that continues one that is interrupted, or spawned and gone: that one is marked as
// interrupted first. Fields that st leaves empty are taken from the old one.
func (s *Sheet) Resume(old string, st Start, now time.Time, judge Judge) (Entry, error) {
	e, err := s.Get(old)
	if err != nil {
		return Entry{}, err
	}
	if e.Status == Spawned {
		why, gone := judge(e)
		if !gone {
			return Entry{}, illegalStep(e, Resumed).WithHint("it is not known to be dead; `ramet track interrupt %s` first (legal from %s: completed, failed, timeout, interrupted)", old, e.Status)
		}
		if e, err = e.Move(Interrupted, why, now); err != nil {
			return Entry{}, err
		}
	}
	if e.Status != Interrupted {
		return Entry{}, illegalStep(e, Resumed)
	}
	st = st.inherit(e)
	if err := st.Check(); err != nil {
		return Entry{}, err
	}
	if st.ID != old {
		if err := s.free(st.ID); err != nil {
			return Entry{}, err
		}
	}
	if now = truncateTime(now); now.Before(e.At) {
		now = e.At
	}
	e.Status, e.ResumedBy = Resumed, st.ID
	s.put(e, nil)
	return s.begin(st, old, now), nil
}

// inherit fills in the fields of the resumed entry.
func (st Start) inherit(e Entry) Start {
	for _, f := range []struct {
		mine  *string
		yours string
	}{{&st.Type, e.Type}, {&st.Plan, e.Plan}, {&st.Group, e.Group}, {&st.Description, e.Description}} {
		if *f.mine == "" {
			*f.mine = f.yours
		}
	}
	if st.Minutes == 0 {
		st.Minutes = e.Minutes
	}
	if st.Description == "" && st.Plan == "" {
		st.Description = "Resumed execution"
	}
	return st
}

// Get returns the entry that Find finds. NOT_FOUND suggests similar ids.
func (s *Sheet) Get(id string) (Entry, error) {
	e, ok := s.Find(id)
	if ok {
		return e, nil
	}
	var ids []string
	for _, e := range s.Entries() {
		ids = append(ids, e.ID)
	}
	err := fault.New(fault.NotFound, "no sub-agent %.80q in the ledger", id)
	return Entry{}, err.WithHint("%s", text.NearestHint(id, ids, "`ramet track list` shows all"))
}
