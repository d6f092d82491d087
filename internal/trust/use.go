package trust

import (
	"slices"
)

// Text is a file of the project as it was accepted.
type Text struct {
	Path string
	Data []byte
	// Note tells a person that the file in the project is another one, or is not used;
	// empty: it is what was accepted, or there is none.
	Note string
}

const look = " (`ramet trust` shows it)"

// Instructions are what stands before conversations: what a person accepted, whatever
// the file says now. It is asked for every turn.
func (g Gate) Instructions() (Text, error) {
	return g.text(Instructions, instructionFiles)
}

// Configuration is the project's own, as a person accepted it.
func (g Gate) Configuration() (Text, error) {
	return g.text(Configuration, []string{ConfigurationFile})
}

// text is the first of some files that was accepted.
func (g Gate) text(kind Kind, paths []string) (Text, error) {
	g.Sources = slices.DeleteFunc(slices.Clone(g.sources()), func(s Source) bool { return s.Kind != kind })
	r, err := g.Review()
	if err != nil {
		return Text{}, err
	}
	var out Text
	for _, p := range paths {
		i := slices.IndexFunc(r.Items, func(i Item) bool { return i.Path == p })
		if i < 0 {
			continue
		}
		item := r.Items[i]
		if out.Path == "" && item.accepted != nil {
			out.Path = p
			if out.Data, err = r.Was(item); err != nil {
				return Text{}, err
			}
		}
		if out.Note == "" && (item.Change != Same || item.Refused != "") {
			out.Note = p + r.note(item)
		}
		if item.Change == Same {
			break // those behind it do not count
		}
	}
	return out, nil
}

func (r Review) note(i Item) string {
	switch {
	case i.Change == Gone:
		return " is gone; the text that you accepted is used until you accept that" + look
	case i.Refused != "" && i.accepted != nil:
		return " has changed and cannot be used: " + i.Refused + "; the text that you accepted is used"
	case i.Refused != "":
		return " is not used: " + i.Refused
	case i.Change == Changed:
		return " has changed since you accepted it; the text that you accepted is used" + look
	case r.Older:
		return " is not used: you trusted this folder with an older version, which kept no text; accept it again" + look
	}
	return " is not used: nobody has accepted it" + look
}
