package public

import "ramet/internal/core/registry"

// Driven describes an agent that another program drives, in lists.
type Driven struct {
	Driver   string `json:"driver"`
	Asks     *bool  `json:"asks"`     // the program asks before it changes anything; null: nobody here knows it
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

// FormatDriven is the shape of what is known. metered: what it spends from now on goes through the gateway.
func FormatDriven(driver string, by registry.Accounts, metered bool) *Driven {
	d := &Driven{Driver: driver, Spending: ReportedOnly, Wire: FormatSpent(by.Wire), Reported: FormatSpent(by.Reported)}
	if by.Wire != nil || metered && by.Reported == nil {
		d.Spending = OnTheWire
	}
	return d
}

// FormatSpent is the shape of what was spent; nil: null.
func FormatSpent(s *registry.SpentBy) *Spent {
	if s == nil {
		return nil
	}
	return &Spent{s.Tokens, int64(s.Cost)}
}
