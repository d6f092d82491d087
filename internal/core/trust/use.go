package trust

import "cmp"

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
