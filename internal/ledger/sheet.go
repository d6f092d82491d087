package ledger

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Sheet is the content of agent-history.json.
type Sheet struct {
	head    Object // all members; that of the entries is not looked at
	rows    []row
	tail    string // after the last bracket
	changed bool
}

// row is one element of the entries; one that is no object is no entry: ok is false.
type row struct {
	Entry
	ok bool
}

// entry returns the entry of a row, with its place.
func (s *Sheet) entry(i int) Entry {
	e := s.rows[i].Entry
	e.at = i
	return e
}

// The values of a new file.
const (
	Version = "1.0"
	Limit   = 50
)

// New returns an empty sheet, from the template.
func New() *Sheet {
	return &Sheet{changed: true, head: Object{Members: []Member{
		{Key: keyVersion, Raw: QuoteJSON(Version)},
		{Key: keyLimit, Raw: strconv.AppendInt(nil, Limit, 10)},
		{Key: keyEntries, Raw: []byte("[]")},
	}}}
}

// Parse reads a file. STORAGE_CORRUPT: it is no JSON, no object, or its entries are no list. Everything else is kept
// and read as far as possible.
func Parse(data []byte) (*Sheet, error) {
	s := &Sheet{}
	var err error
	if s.head, err = ParseObject(data); err != nil {
		return nil, fault.New(fault.StorageCorrupt, "read %s: %w", FileName, err)
	}
	if raw, ok := s.head.Get(keyEntries); ok && string(raw) != "null" {
		elements, err := ParseJSONList(raw)
		if err != nil {
			return nil, fault.New(fault.StorageCorrupt, "read %s: the entries are no list", FileName)
		}
		s.rows = make([]row, len(elements))
		for i, element := range elements {
			s.rows[i].Entry, s.rows[i].ok = readEntry(element, i)
		}
	}
	if bytes.HasSuffix(data, []byte("\n")) {
		s.tail = "\n"
	}
	return s, nil
}

// Format returns the text of the sheet. Members that did not change are written as they were read.
func (s *Sheet) Format() []byte {
	elements := make([][]byte, len(s.rows))
	for i, r := range s.rows {
		elements[i] = r.raw
	}
	head := Object{Members: append([]Member(nil), s.head.Members...)}
	if raw, ok := head.Get(keyVersion); !ok || string(raw) == "null" {
		head.Set(keyVersion, QuoteJSON(Version))
	}
	head.Set(keyEntries, AppendJSONList(nil, elements, 1))
	return append(head.Append(nil, 0), s.tail...)
}

// Changed reports whether the sheet differs from the file that was read.
func (s *Sheet) Changed() bool { return s.changed }

// Limit returns how many entries the file should hold.
func (s *Sheet) Limit() int {
	raw, _ := s.head.Get(keyLimit)
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 {
		return Limit
	}
	return n
}

// Len returns the number of elements of the entries, whatever they are.
func (s *Sheet) Len() int { return len(s.rows) }

// Writable refuses a file whose version is not ours to write: a later major version
// is STORAGE_NEWER, one that is no version at all STORAGE_FOREIGN.
func (s *Sheet) Writable() error {
	raw, ok := s.head.Get(keyVersion)
	if !ok || string(raw) == "null" {
		return nil
	}
	version, isText := ParseJSONText(raw)
	if !isText {
		version = string(raw) // a number: others are not as strict
	}
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil || n < 0:
		return fault.New(fault.StorageForeign, "%s has the version %.20q, which is none", FileName, version).
			WithHint("it can be read, not written; give another folder with --state")
	case n > 1:
		return fault.New(fault.StorageNewer, "%s has version %.20s, newer than %s", FileName, version, Version).
			WithHint("it can be read, not written; use a newer ramet, or another folder with --state")
	}
	return nil
}

// Entries returns all entries, oldest first.
func (s *Sheet) Entries() []Entry {
	out := make([]Entry, 0, len(s.rows))
	for i, r := range s.rows {
		if r.ok {
			out = append(out, s.entry(i))
		}
	}
	return out
}

// add appends a new entry.
func (s *Sheet) add(e Entry, extra []Member) {
	e.raw, e.at = nil, len(s.rows)
	s.rows = append(s.rows, row{})
	s.put(e, extra)
}

// put replaces an entry in its place.
func (s *Sheet) put(e Entry, extra []Member) Entry {
	e.raw = e.text(extra)
	s.rows[e.at] = row{e, true}
	s.changed = true
	return e
}

// Find returns the entry that an id means: the newest live one, else the newest.
func (s *Sheet) Find(id string) (Entry, bool) {
	found := -1
	if id == "" {
		return Entry{}, false
	}
	for i, r := range slices.Backward(s.rows) {
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
	for _, e := range slices.Backward(s.Entries()) {
		if fits(e) {
			return e, true
		}
	}
	return Entry{}, false
}

// Plan returns the entries of a plan, oldest first.
func (s *Sheet) Plan(plan string) []Entry {
	return slices.DeleteFunc(s.Entries(), func(e Entry) bool { return e.Plan != plan })
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
	for _, e := range s.Entries() {
		if e.Status != Spawned {
			continue
		}
		if why, gone := judge(e); gone {
			moved, _ := e.Move(Interrupted, why, now) // which spawned always allows
			out = append(out, s.put(moved, nil))
		}
	}
	return out
}

// Prune drops the oldest finished tasks until the sheet is within its limit: those whose last entry is completed,
// failed or timeout; then those whose last entry is resumed by one that is not in the file. A chain of resumes is
// dropped whole. Entries that are spawned, interrupted or unknown stay, with their chains.
func (s *Sheet) Prune() {
	over := len(s.rows) - s.Limit()
	if over <= 0 {
		return
	}
	last := s.lasts()
	size := map[int]int{}
	for _, l := range last {
		size[l]++
	}
	gone := map[int]bool{}
	for _, may := range []func(Status) bool{Status.Finished, func(st Status) bool { return st == Resumed }} {
		for i, r := range s.rows {
			if over > 0 && last[i] == i && r.ok && may(r.Status) {
				gone[i] = true
				over -= size[i]
			}
		}
	}
	kept := s.rows[:0:0]
	for i, r := range s.rows {
		if !gone[last[i]] {
			kept = append(kept, r)
		}
	}
	s.changed = s.changed || len(kept) != len(s.rows)
	s.rows = kept
}

// lasts returns, for each row, the row in which its chain of resumes ends.
func (s *Sheet) lasts() []int {
	next := s.nexts()
	last := make([]int, len(s.rows))
	for i := range s.rows {
		at, seen := i, map[int]bool{}
		for next[at] >= 0 && !seen[at] { // a file can hold a circle
			seen[at] = true
			at = next[at]
		}
		last[i] = at
	}
	return last
}

// nexts returns, for each row, the row that continues it, or -1.
func (s *Sheet) nexts() []int {
	byID := map[string][]int{}
	for i, r := range s.rows {
		if r.ok && r.ID != "" {
			byID[r.ID] = append(byID[r.ID], i)
		}
	}
	next := make([]int, len(s.rows))
	for i, r := range s.rows {
		next[i] = -1
		if !r.ok || r.Status != Resumed {
			continue
		}
		// The first after it. Other tools may sort their files; then one before it.
		for _, j := range byID[s.entry(i).ResumedBy] {
			if j == i || s.entry(j).Resumes != r.ID {
				continue
			}
			if next[i] < 0 || next[i] < i && j > i {
				next[i] = j
			}
		}
	}
	return next
}

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
	for _, e := range s.Entries() {
		if e.ID == id && !now.After(e.At) {
			now = truncateTime(e.At).Add(time.Millisecond)
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
	if to == Resumed || !slices.Contains(e.Status.Next(), to) { // only Resume sets Resumed
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
	st.Type, st.Plan, st.Group = cmp.Or(st.Type, e.Type), cmp.Or(st.Plan, e.Plan), cmp.Or(st.Group, e.Group)
	st.Description, st.Minutes = cmp.Or(st.Description, e.Description), cmp.Or(st.Minutes, e.Minutes)
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
