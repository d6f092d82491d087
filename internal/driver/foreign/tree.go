package foreign

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"

	v2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// unit is what is written together: one message, and the results of its calls.
type unit struct {
	message []int32 // its records
	more    []int32 // records behind it: results, and lines of unknown types
	up      int32   // -1: it is a root
	kids    []int32 // units behind it
	newest  int32   // the newest record in it and behind it
}

// head is the record that a unit begins with: what it is, is that.
func (s *Source) head(u int32) *record { return &s.records[s.units[u].message[0]] }

// grow makes the tree. Lines that name none stand behind the one before them.
func (s *Source) grow() {
	s.units = make([]unit, 0, len(s.records))
	before := int32(-1)
	for i := range s.records {
		r := &s.records[i]
		switch {
		case r.top:
		case r.up != 0:
			if at, ok := s.ids[r.up]; ok && at != int32(i) {
				r.prev = at
			} else {
				r.lost = true
			}
		case !r.named:
			r.prev = before
		}
		before = int32(i)
	}
	s.cut()
	for i := range s.records {
		s.place(int32(i))
	}
	s.tie()
	for i := len(s.units) - 1; i >= 0; i-- { // children come later than their parents
		u := &s.units[i]
		if u.up >= 0 {
			s.units[u.up].newest = max(s.units[u.up].newest, u.newest)
		}
	}
	for i, u := range s.units {
		if u.up < 0 {
			s.roots = append(s.roots, int32(i))
		} else {
			s.units[u.up].kids = append(s.units[u.up].kids, int32(i))
		}
	}
}

// cut opens cycles: who stands behind itself stands behind nobody.
func (s *Source) cut() {
	seen := make([]int32, len(s.records)) // the walk that met it first
	for i := range s.records {
		at := int32(i)
		for at >= 0 && seen[at] == 0 {
			seen[at] = int32(i) + 1
			next := s.records[at].prev
			if next >= 0 && seen[next] == int32(i)+1 {
				s.openAt(next)
				break
			}
			at = next
		}
	}
}

// openAt opens a cycle before the record in it that was written first.
func (s *Source) openAt(member int32) {
	first := member
	for at := s.records[member].prev; at != member; at = s.records[at].prev {
		first = min(first, at)
	}
	s.records[first].prev, s.records[first].lost = -1, true
}

// place puts a record, and those before it first, into units.
func (s *Source) place(i int32) {
	var path []int32
	for at := i; at >= 0 && s.records[at].unit == -1; at = s.records[at].prev {
		path = append(path, at)
	}
	for n := len(path) - 1; n >= 0; n-- {
		s.put(path[n])
	}
}

// nowhere is the unit of records that stand before all units.
const nowhere int32 = -2

func (s *Source) put(i int32) {
	r := &s.records[i]
	up := nowhere
	if r.prev >= 0 {
		up = s.records[r.prev].unit
	}
	var parent *unit
	answers := false
	if up >= 0 {
		parent = &s.units[up]
		answers = s.head(up).role == answer
	}
	switch {
	case r.role == silent:
		r.unit = up
		return
	case (r.role == raw || r.role == spent) && parent == nil:
		r.unit = up
		s.loose = append(s.loose, i)
		return
	case parent == nil:
	case r.role == answer && answers && r.group != 0 && r.group == s.head(up).group:
		parent.message = append(parent.message, i)
		r.unit, parent.newest = up, max(parent.newest, i)
		return
	case r.role == raw, r.role == spent, r.role == result && answers:
		s.follow(up, i)
		return
	}
	r.unit = int32(len(s.units))
	s.units = append(s.units, unit{message: []int32{i}, up: max(up, -1), newest: i})
}

// follow puts a record behind the message of a unit.
func (s *Source) follow(at, i int32) {
	u := &s.units[at]
	u.more, u.newest = append(u.more, i), max(u.newest, i)
	s.records[i].unit = at
}

// tie puts what stands before every message behind the first one.
func (s *Source) tie() {
	if len(s.loose) > 0 && len(s.units) == 0 {
		i := s.loose[0]
		s.loose = s.loose[1:]
		s.units = append(s.units, unit{message: []int32{i}, up: -1, newest: i})
	}
	for _, i := range s.loose {
		s.follow(0, i)
	}
}

// Item is an entry to be.
type Item struct {
	At   []history.Bytes
	tree *Source
}

// Read makes it.
func (i Item) Read() (Said, error) { return i.tree.read(i.At) }

// Node is a message and the results of its calls, in the tree.
type Node struct {
	tree *Source
	i    int32
}

// Side says that it begins what a sub-agent did, Lost that the line before it is not there.
func (n Node) Side() bool { return n.tree.head(n.i).side }

// Lost says that the line that it stands behind is not in the source.
func (n Node) Lost() bool { return n.tree.head(n.i).lost }

// Newest orders nodes by what was said last behind them.
func (n Node) Newest() int32 { return n.tree.units[n.i].newest }

// Items are its entries: the message, then what stands with it.
func (n Node) Items() []Item {
	u, all := n.tree.units[n.i], n.tree.records
	var whole []history.Bytes
	for _, at := range u.message {
		whole = append(whole, all[at].at())
	}
	out := []Item{{whole, n.tree}}
	for _, at := range u.more {
		out = append(out, Item{[]history.Bytes{all[at].at()}, n.tree})
	}
	return out
}

// Kids are the nodes behind it, in their order.
func (n Node) Kids() []Node { return n.tree.nodes(n.tree.units[n.i].kids) }

// Roots are the nodes that stand behind none.
func (s *Source) Roots() []Node { return s.nodes(s.roots) }

// nodes returns the nodes of units.
func (s *Source) nodes(units []int32) []Node {
	out := make([]Node, len(units))
	for i, at := range units {
		out[i] = Node{s, at}
	}
	return out
}

// Offset finds the line of a name: where it begins in the source.
func (s *Source) Offset(name string) (int64, bool) {
	at, ok := s.ids[hashed(name)]
	if !ok {
		return 0, false
	}
	return s.records[at].offset, true
}

// decode reads a line. Programs are written in other languages: what they do with names
// that stand twice, and with bytes that are no text, is no reason to lose a line.
func decode(line []byte, v any) error {
	return v2.Unmarshal(line, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func unreadable(path string, at history.Bytes, err error) error {
	return fault.New(fault.StorageIO, "read %s at byte %d: %w", path, at.Offset, err).
		WithHint("was it changed meanwhile? Import it again")
}

// used returns the usage of an answer; nil if nothing could be counted.
func used(model string, in, out, read, write, thought int64) *history.Used {
	const most = 1 << 50
	for _, n := range []int64{in, out, read, write, thought} {
		if n < 0 || n > most {
			return nil
		}
	}
	if in+out+read+write == 0 {
		return nil
	}
	return &history.Used{Model: plain(model), Input: in, Output: out, CacheRead: read, CacheWrite: write, Reasoning: thought}
}

// dollars converts an amount that a program wrote to nano-dollars.
func dollars(n float64) int64 {
	if !(n > 0 && n < 1e6) {
		return 0
	}
	return int64(math.Round(n * 1e9))
}

// words returns one text.
func words(s string) []history.Part {
	return []history.Part{{Type: history.Text, Text: s}}
}

// sound makes parts what a history holds: texts that are text.
func sound(parts []history.Part) []history.Part {
	out := parts[:0]
	for _, p := range parts {
		p.Text, p.Name, p.CallID = plain(p.Text), plain(p.Name), plain(p.CallID)
		if p.Type == history.Text && p.Text == "" {
			continue
		}
		out = append(out, p)
	}
	return out
}

func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// call returns a call with arguments as they came.
func call(id, name string, args json.RawMessage) history.Part {
	p := llm.NewCall(id, name, strings.TrimSpace(string(args)))
	return history.Part{Type: history.ToolCall, CallID: id, Name: name, Args: p.Args, Malformed: plain(p.Malformed)}
}

// picture returns an image or a document of base64; where it is none, words say so.
func picture(kind, media, data string) history.Part {
	bytes, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(bytes) == 0 || media == "" {
		return history.Part{Type: history.Text, Text: "[" + kind + " that is not in the file]"}
	}
	t := history.Image
	if media == "application/pdf" {
		t = history.Document
	}
	return history.Part{Type: t, MediaType: media, Data: bytes}
}

var dataURL = text.Regexp(`^data:([^;,]+);base64,`)

// linked returns an image that a URL holds, or names.
func linked(url string) history.Part {
	if m := dataURL().FindStringSubmatch(url); m != nil {
		return picture("image", m[1], url[len(m[0]):])
	}
	return history.Part{Type: history.Text, Text: "[image " + url + "]"}
}

// decodeText returns a JSON string, or "".
func decodeText(raw json.RawMessage) string {
	var s string
	if decode(raw, &s) != nil {
		return ""
	}
	return s
}
