package driver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
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

const mostOffer = 1 << 20 // bytes of a file

// Offers is a folder with a file for each program. All methods are safe for concurrent use.
type Offers struct{ Folder string }

func (o *Offers) file(name string) string { return filepath.Join(o.Folder, name+".json") }

// plain reports whether a driver's name can be that of a file.
func plain(name string) bool {
	return name != "" && name[0] != '.' && !strings.ContainsAny(name, `/\:`+"\x00") && len(name) <= 200
}

// Of returns the offer of a program; false if it never ran here.
func (o *Offers) Of(name string) (Offer, bool) {
	if !plain(name) {
		return Offer{}, false
	}
	data, err := durable.ReadPlain(o.file(name), mostOffer, nil)
	var out Offer
	if err != nil || json.Unmarshal(data, &out) != nil {
		return Offer{}, false
	}
	return out, true
}

// Keep keeps what a program offers. What the same program offered before and says nothing of now
// stays: a session tells its commands a moment after it began, and one that is taken up may tell
// nothing.
func (o *Offers) Keep(name string, now Offer) error {
	if !plain(name) {
		return nil
	}
	now = now.Bounded()
	was, had := o.Of(name)
	if had && was.Version == now.Version {
		now = now.Or(was)
	}
	if had && reflect.DeepEqual(was, now) {
		return nil
	}
	data, err := json.Marshal(now)
	if err == nil && len(data) > mostOffer {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(o.Folder, 0o700)
	}
	if err == nil {
		err = durable.WriteFile(o.file(name), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fault.New(fault.StorageIO, "keep what %s offers: %w", name, err)
	}
	return nil
}

// Wish has the settings for the program of an agent, in its own words. What is empty is the
// program's choice, or its preset's.
type Wish struct {
	Model  string
	Mode   string
	Effort string // how hard it is to think, as people told it; a program that knows no such word is not told
}

// ModeEntry records that one of a program's own modes was chosen for an agent.
func ModeEntry(driver, mode string) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.DriverModeCommand, Mode: mode,
		Driver: &history.Driver{Name: driver, Attested: history.Reported}}}
}

// Mode returns the mode of its program that was chosen for an agent, itself or before it was born;
// empty: none.
func Mode(ctx context.Context, log history.Log, a id.Agent, driver string) (string, error) {
	told, _, err := registry.LastOrder(ctx, log, a, func(m history.Meta) bool {
		return m.Command == history.DriverModeCommand && m.Driver != nil && m.Driver.Name == driver
	})
	return told.Mode, err
}

// wish returns the settings of an agent.
func (d *Driven) wish(ctx context.Context, log history.Log, a id.Agent) (Wish, error) {
	out := Wish{Model: d.Model}
	var err error
	if out.Mode, err = Mode(ctx, log, a, d.Program.Name()); err != nil {
		return out, err
	}
	effort, _, err := registry.Effort(ctx, log, a)
	out.Effort = string(effort.Or(""))
	return out, err
}
