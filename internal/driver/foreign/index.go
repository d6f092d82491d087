package foreign

import (
	"bytes"
	"cmp"
	"hash/fnv"

	"ramet/internal/core/history"
)

// role is what a line is to a conversation.
type role uint8

const (
	silent role = iota // it says nothing to the conversation
	user               // the person, or the program in the person's place
	answer             // the model; lines of one group are one message
	result             // of calls of the answer before it
	shape              // it changes what was said: compact, rewind
	raw                // nobody knows: kept as it came
	spent              // what the answer before it used
)

// record is a line as the index keeps it: there may be millions.
type record struct {
	offset int64
	up     uint64 // hash of the name of the line before it; 0: none
	size   int32
	group  uint32
	role   role
	side   bool // of a sub-agent in the same source
	named  bool // it says behind which line it stands
	top    bool // it says that it stands behind none
	lost   bool // the line that it names is not there, or stands behind it
	unit   int32
	prev   int32 // the record that stands before it; -1: none
}

// at is where it stands.
func (r record) at() history.Bytes { return history.Bytes{Offset: r.offset, Size: int64(r.size)} }

func hashed(name string) uint64 {
	if name == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return max(h.Sum64(), 1)
}

// take puts a line into the index, or counts why not.
func (s *Source) take(line []byte, size int64) {
	s.Lines++
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		s.Skipped["empty"]++
		return
	case size > maxLine:
		s.Skipped["too long"]++
		return
	}
	r, n := s.form.index(text, &s.Session)
	if r.role == broken {
		s.Skipped["no JSON of the program"]++
		return
	}
	r.offset, r.size, r.prev, r.unit = s.Bytes, int32(size), -1, -1
	r.up, r.group = hashed(n.up), uint32(hashed(n.group))
	if n.id != "" {
		if _, twice := s.ids[hashed(n.id)]; twice {
			s.Skipped["the same id twice"]++
			return
		}
		s.ids[hashed(n.id)] = int32(len(s.records))
	}
	switch {
	case r.role == silent:
		s.Skipped[cmp.Or(n.why, "says nothing")]++
	case r.role == raw && n.kind != "":
		s.unknown(n.kind)
	}
	s.records = append(s.records, r)
}

// mostKinds is how many types that nobody knows are counted each by its name.
const mostKinds = 50

// unknown counts a line of a type that nobody knows.
func (s *Source) unknown(kind string) {
	if len(kind) > 80 {
		kind = kind[:80]
	}
	kind = plain(kind)
	if _, there := s.Unknown[kind]; !there && len(s.Unknown) >= mostKinds {
		kind = "others"
	}
	s.Unknown[kind]++
}

// broken is the role of what cannot be read.
const broken role = 255

// Taken is how many lines are in entries.
func (s *Source) Taken() int64 {
	out := s.Lines
	for _, n := range s.Skipped {
		out -= n
	}
	return out
}

// read makes an entry of some lines, which are of one message.
func (s *Source) read(list []history.Bytes) (Said, error) {
	var out Said
	for i, at := range list {
		line := make([]byte, at.Size)
		if _, err := s.file.ReadAt(line, at.Offset); err != nil {
			return out, unreadable(s.Path, at, err)
		}
		line = bytes.TrimSpace(line)
		one, err := s.form.read(line)
		if err != nil {
			one = Said{Kind: history.Note, Parts: words(string(line))}
		}
		if i == 0 {
			out = one
			continue
		}
		out.Parts = append(out.Parts, one.Parts...)
		if one.Used != nil { // each line tells of the whole answer
			out.Used = one.Used
		}
	}
	out.Parts = sound(out.Parts)
	if len(out.Parts) == 0 && out.Kind != history.Rewind && out.Kind != history.Usage {
		out.Parts = words("(nothing)")
	}
	return out, nil
}
