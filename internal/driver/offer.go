package driver

import (
	"slices"

	"ramet/internal/base/text"
)

// Offer is what a program says that its user can choose: its own modes, models, efforts and
// commands, each by the program's own word.
type Offer struct {
	Version  string   `json:"version"`
	Mode     string   `json:"mode"` // in which it is
	Modes    []Choice `json:"modes"`
	Model    string   `json:"model"`
	Models   []Choice `json:"models"`
	Effort   string   `json:"effort"`
	Efforts  []Choice `json:"efforts"`
	Commands []Choice `json:"commands"` // without the slash
}

// Choice is one thing that can be chosen.
type Choice struct {
	Word  string `json:"word"`
	Title string `json:"title"`
	About string `json:"about"`
	Hint  string `json:"hint,omitempty"` // command: what it wants to be told; empty: nothing
}

// Has says whether a word is among choices.
func Has(all []Choice, word string) bool {
	return slices.ContainsFunc(all, func(c Choice) bool { return c.Word == word })
}

// Or is an offer with what an older one has, where it says nothing.
func (o Offer) Or(old Offer) Offer {
	if len(o.Modes) == 0 {
		o.Modes, o.Mode = old.Modes, old.Mode
	}
	if len(o.Models) == 0 {
		o.Models, o.Model = old.Models, old.Model
	}
	if len(o.Efforts) == 0 {
		o.Efforts, o.Effort = old.Efforts, old.Effort
	}
	if len(o.Commands) == 0 {
		o.Commands = old.Commands
	}
	return o
}

// What is kept of a program that may say anything.
const (
	mostChoices = 500
	mostWord    = 200
	mostAbout   = 400
)

// Bounded is an offer of which nothing is longer than anybody reads: words that are none are left
// out.
func (o Offer) Bounded() Offer {
	o.Version = text.Line(o.Version, mostWord)
	for _, list := range []*[]Choice{&o.Modes, &o.Models, &o.Efforts, &o.Commands} {
		out := []Choice{}
		for _, c := range *list {
			if c.Word == "" || len(c.Word) > mostWord || text.Line(c.Word, mostWord) != c.Word || len(out) == mostChoices {
				continue
			}
			out = append(out, Choice{c.Word, text.Line(c.Title, mostWord), text.Line(c.About, mostAbout), text.Line(c.Hint, mostWord)})
		}
		*list = out
	}
	return o
}
