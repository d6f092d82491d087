package public

import (
	"ramet/internal/core/registry"
)

// Drivers are the programs that can drive agents.
type Drivers struct {
	Drivers []Driver `json:"drivers"`
}

// Driver is one of them.
type Driver struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	State   string   `json:"state"` // missing, found (nobody asked it), ready, unusable, off
	Command []string `json:"command"`
	Path    *string  `json:"path"`
	Version *string  `json:"version"` // as it says
	Can     []string `json:"can"`     // what it advertises: resume, load, fork, images, mcp-http
	Mode    *string  `json:"mode"`    // that its sessions are put into
	Asks    bool     `json:"asks"`    // it asks before it changes anything
	Boxed   bool     `json:"boxed"`   // it runs confined
	Install *string  `json:"install"` // how it comes onto a machine
	Login   *string  `json:"login"`   // with what its user logs in
	Why     *string  `json:"why"`     // why it cannot be used
}

// Driven describes an agent that another program drives, in lists.
type Driven struct {
	Driver   string `json:"driver"`
	Asks     *bool  `json:"asks"`     // the program asks before it changes anything; null: unknown here
	Boxed    *bool  `json:"boxed"`    // it runs confined
	Spending string `json:"spending"` // OnTheWire or ReportedOnly
	Wire     *Spent `json:"wire"`     // what went through ramet's gateway; null: nothing
	Reported *Spent `json:"reported"` // what the program reported; null: nothing
}

// How what such an agent spends is known.
const (
	OnTheWire    = "wire"
	ReportedOnly = "reported only"
)

// FormatDriven returns the shape of what is known. metered: what it spends from now on goes through the gateway.
func FormatDriven(driver string, by registry.Accounts, metered bool) *Driven {
	d := &Driven{Driver: driver, Spending: ReportedOnly, Wire: FormatSpent(by.Wire), Reported: FormatSpent(by.Reported)}
	if by.Wire != nil || metered && by.Reported == nil {
		d.Spending = OnTheWire
	}
	return d
}

// FormatSpent returns the shape of what was spent; nil for none.
func FormatSpent(s *registry.SpentBy) *Spent {
	if s == nil {
		return nil
	}
	return &Spent{s.Tokens, int64(s.Cost)}
}

// Program lists the commands and choices that a driving program offers its user, by the program's own words, as
// it told when it ran last.
type Program struct {
	Driver   string   `json:"driver"`
	Mode     *string  `json:"mode"`  // its own, in which the agent's turns run; null: as the program likes
	Boxed    *bool    `json:"boxed"` // in that mode it runs confined; null: unknown here
	Modes    []Choice `json:"modes"`
	Models   []Choice `json:"models"` // MODEL in driver/NAME/MODEL
	Efforts  []Choice `json:"efforts"`
	Commands []Choice `json:"commands"` // without the slash
}

// Choice is one of several that can be chosen.
type Choice struct {
	Word  string  `json:"word"`
	Title string  `json:"title"`
	About string  `json:"about"`
	Hint  *string `json:"hint"` // what a command wants to be told; null: nothing
}
