package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Write writes the bytes of snapshot.json, one element of a list after the other: a run of many
// items is written after each of its states, and never stands in memory as text.
func (s Snapshot) Write(w io.Writer) error {
	f := &form{to: bufio.NewWriterSize(w, 64<<10)}
	f.enc = json.NewEncoder(&f.buf)
	f.enc.SetEscapeHTML(false)
	f.say("{")
	writeList(f, "artifacts", s.Artifacts)
	f.field("created_at", s.CreatedAt)
	f.field("event_count", s.EventCount)
	f.field("failure", s.Failure)
	writeList(f, "gates", s.Gates)
	writeList(f, "issues", s.Issues)
	f.field("last_event_hash", s.LastEventHash)
	f.field("pr", s.PR)
	f.field("run_id", s.RunID)
	f.field("run_state", s.RunState)
	f.field("schema_version", s.SchemaVersion)
	f.field("section_states", s.SectionStates)
	f.field("updated_at", s.UpdatedAt)
	writeList(f, "work_items", s.WorkItems)
	f.say("\n}\n")
	if f.err == nil {
		f.err = f.to.Flush()
	}
	if f.err != nil {
		return fmt.Errorf("encode snapshot: %w", f.err)
	}
	return nil
}

// form writes the members of one object.
type form struct {
	to     *bufio.Writer
	member bool // one was written
	buf    bytes.Buffer
	enc    *json.Encoder // into buf
	err    error         // the first
}

func (f *form) say(text string) {
	if f.err == nil {
		_, f.err = f.to.WriteString(text)
	}
}

// name begins a member.
func (f *form) name(name string) {
	if f.member {
		f.say(",")
	}
	f.member = true
	f.say("\n  \"" + name + "\": ")
}

func (f *form) field(name string, value any) {
	f.name(name)
	f.value(value, "  ")
}

// value writes what stands behind a name, or is an element; prefix is how far that is indented.
func (f *form) value(value any, prefix string) {
	if f.err != nil {
		return
	}
	f.buf.Reset()
	f.enc.SetIndent(prefix, "  ")
	if f.err = f.enc.Encode(value); f.err == nil {
		_, f.err = f.to.Write(bytes.TrimSuffix(f.buf.Bytes(), []byte("\n")))
	}
}

func writeList[T any](f *form, name string, list []T) {
	f.name(name)
	switch {
	case list == nil:
		f.say("null")
		return
	case len(list) == 0:
		f.say("[]")
		return
	}
	f.say("[")
	for i := range list {
		if i > 0 {
			f.say(",")
		}
		f.say("\n    ")
		f.value(&list[i], "    ")
	}
	f.say("\n  ]")
}
