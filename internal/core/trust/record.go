package trust

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// record is <home>/trust.json: what a person accepted, by the real paths of folders. The
// bytes are beside it, in trust/ under their SHA-256.
type record struct {
	Version int                        `json:"version"` // 2
	Folders map[string]json.RawMessage `json:"folders"`
	Recipes []string                   `json:"recipes,omitempty"` // digests of those that may act outside of runs
}

// consent records what was accepted in one folder.
type consent struct {
	At     time.Time `json:"at"`
	Things []kept    `json:"things"`
	older  bool      // given to a version that kept no bytes
}

type kept struct {
	Kind   Kind   `json:"kind"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
}

func (k kept) name() name { return name{k.Kind, k.Path} }

func recordPath(home string) string { return filepath.Join(home, "trust.json") }

func bytesPath(home, sum string) string { return filepath.Join(home, "trust", sum) }

// mostRecord limits the size of the record.
const mostRecord = 8 << 20

// readRecord refuses a record that another person could have written.
func readRecord(home string) (record, error) {
	path := recordPath(home)
	empty := record{Version: 2, Folders: map[string]json.RawMessage{}}
	damaged := fault.New(fault.InvalidConfig, "read trust: %s is damaged or from a newer ramet", path).
		WithHint("move it away and trust your folders again")
	others := false
	text, err := durable.ReadPlain(path, mostRecord, func(info fs.FileInfo) error {
		if others = info.Mode().Perm()&0o022 != 0; others {
			return fault.New(fault.InvalidConfig, "read trust: others can write %s (mode %04o)", path, info.Mode().Perm()).
				WithHint("check it, then chmod 600 %s", path)
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return empty, nil
	case others:
		return record{}, err
	case fault.Is(err, fault.InvalidConfig):
		return record{}, damaged
	case err != nil:
		return record{}, durable.Failure("read trust", path, err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil || r.Version != 1 && r.Version != 2 {
		return record{}, damaged
	}
	if r.Folders == nil {
		r.Folders = empty.Folders
	}
	r.Version = 2
	return r, nil
}

// of returns what was accepted in a folder; ok is false if nothing ever was.
func (r record) of(real string) (c consent, ok bool) {
	raw, ok := r.Folders[real]
	if !ok {
		return c, false
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return consent{older: true}, true // a fingerprint of version 1
	}
	return c, true
}

// changeRecord changes the record under its lock.
func changeRecord(ctx context.Context, home string, do func(*record) error) error {
	if err := durable.MakeFolder(home, 0o700); err != nil {
		return err
	}
	path := recordPath(home)
	return durable.While(ctx, path, func() error {
		r, err := readRecord(home)
		if err != nil {
			return err
		}
		if err := do(&r); err != nil {
			return err
		}
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return fault.New(fault.Failed, "write trust: %w", err)
		}
		return durable.WriteFile(path, append(text, '\n'), 0o600)
	})
}

// keepBytes keeps the bytes of a thing, before the record names them.
func keepBytes(home string, t Thing) error {
	path := bytesPath(home, t.SHA256())
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, t.Data, 0o600)
}

// bytes returns the bytes that were kept; they must be what was accepted.
func (k kept) bytes(home string) ([]byte, error) {
	path := bytesPath(home, k.SHA256)
	data, err := os.ReadFile(path)
	if err == nil && (Thing{Data: data}).SHA256() == k.SHA256 {
		return data, nil
	}
	return nil, fault.New(fault.StorageCorrupt, "what you accepted of %s is not in %s any more", k.Path, path).
		WithHint("accept it again: ramet trust")
}

// realPath returns the one name of a folder: a link must not carry trust along.
func realPath(dir string) (string, error) {
	real, err := durable.RealFolder(dir)
	if err == nil && !utf8.ValidString(real) { // JSON would store another name
		err = fault.New(fault.InvalidConfig, "trust %q: the path is not UTF-8", real)
	}
	return real, err
}

// Text is a file of the project as it was accepted.
type Text struct {
	Path string
	Data []byte // nil: nothing was accepted
	// Note tells a person that the file in the project is another one, or is not used;
	// empty: it is what was accepted, or there is none.
	Note string
}

const look = " (`ramet trust` shows it)"

// Configuration returns the project's own, as a person accepted it.
func (g Gate) Configuration() (Text, error) {
	s, err := g.Shelf()
	if err != nil {
		return Text{}, err
	}
	defer s.Close()
	return s.First(Configuration, ConfigurationFile)
}

// Shelf holds what a person accepted in a project, by its places, next to what lies there now.
// Nothing is looked for: who asks names the places. It belongs to one goroutine.
type Shelf struct {
	ground *Ground
	home   string
	older  bool
	things map[name]kept
	order  []kept
}

// Shelf opens the shelf of the project; Close gives it back.
func (g Gate) Shelf() (*Shelf, error) {
	real, c, _, err := g.accepted()
	if err != nil {
		return nil, err
	}
	ground, err := Open(real)
	if err != nil {
		return nil, err
	}
	s := &Shelf{ground: ground, home: g.Home, older: c.older, things: map[name]kept{}, order: c.Things}
	for _, k := range c.Things {
		s.things[k.name()] = k
	}
	return s, nil
}

// Close gives back the project's folder.
func (s *Shelf) Close() error { return s.ground.Close() }

// Paths returns the places of what was accepted of a kind, sorted as they were accepted.
func (s *Shelf) Paths(kind Kind) []string {
	var out []string
	for _, k := range s.order {
		if k.Kind == kind {
			out = append(out, k.Path)
		}
	}
	return out
}

// Text returns what was accepted at a place, and how it differs from what lies there; ok is false
// where nothing does and nothing was.
func (s *Shelf) Text(kind Kind, p string) (t Text, ok bool, err error) {
	item, ok, err := s.item(kind, p)
	if err != nil || !ok {
		return Text{}, false, err
	}
	t.Path = p
	if item.accepted != nil {
		if t.Data, err = item.accepted.bytes(s.home); err != nil {
			return Text{}, false, err
		}
		if t.Data == nil {
			t.Data = []byte{}
		}
	}
	if item.Change != Same || item.Refused != "" {
		t.Note = p + unusedNote(item, s.older)
	}
	return t, true, nil
}

// First returns the first of some places where something was accepted.
func (s *Shelf) First(kind Kind, paths ...string) (Text, error) {
	var out Text
	for _, p := range paths {
		t, ok, err := s.Text(kind, p)
		if err != nil {
			return Text{}, err
		}
		if !ok {
			continue
		}
		if out.Path == "" && t.Data != nil {
			out.Path, out.Data = t.Path, t.Data
		}
		out.Note = cmp.Or(out.Note, t.Note)
		if t.Note == "" {
			break // those behind it do not count
		}
	}
	return out, nil
}

// item returns what lies at a place and what was accepted there.
func (s *Shelf) item(kind Kind, p string) (Item, bool, error) {
	most := int64(mostInstructions)
	if kind == Configuration {
		most = mostConfiguration
	}
	now, there, err := s.ground.thing(p, "", most)
	if err != nil {
		return Item{}, false, err
	}
	item := Item{Thing: now, Change: New}
	item.Kind = kind
	k, was := s.things[name{kind, p}]
	switch {
	case !was && !there:
		return Item{}, false, nil
	case was && !there:
		item.Change = Gone
	case was && now.Refused == "" && now.SHA256() == k.SHA256:
		item.Change = Same
	case was:
		item.Change = Changed
	}
	if was {
		item.accepted = &k
	}
	return item, true, nil
}

func unusedNote(i Item, older bool) string {
	switch {
	case i.Change == Gone:
		return " is gone; the text that you accepted is used until you accept that" + look
	case i.Refused != "" && i.accepted != nil:
		return " has changed and cannot be used: " + i.Refused + "; the text that you accepted is used"
	case i.Refused != "":
		return " is not used: " + i.Refused
	case i.Change == Changed:
		return " has changed since you accepted it; the text that you accepted is used" + look
	case older:
		return " is not used: you trusted this folder with an older version, which kept no text; accept it again" + look
	}
	return " is not used: it has not been accepted" + look
}
