package ledger

import (
	"bytes"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
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
		for i, element := range elements {
			e, ok := readEntry(element, i)
			s.rows = append(s.rows, row{e, ok})
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
func (s *Sheet) add(e Entry, extra []Member) Entry {
	e.raw, e.at = nil, len(s.rows)
	e.raw = e.text(extra)
	s.rows = append(s.rows, row{e, true})
	s.changed = true
	return e
}

// put replaces an entry in its place.
func (s *Sheet) put(e Entry, extra []Member) Entry {
	e.raw = e.text(extra)
	s.rows[e.at] = row{e, true}
	s.changed = true
	return e
}

// keep removes the rows that do not stay.
func (s *Sheet) keep(stays func(int) bool) {
	kept := s.rows[:0:0]
	for i, r := range s.rows {
		if stays(i) {
			kept = append(kept, r)
		}
	}
	s.changed = s.changed || len(kept) != len(s.rows)
	s.rows = kept
}
