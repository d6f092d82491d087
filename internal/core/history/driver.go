package history

// Driver reports that an entry is of another program that drives the agent, and how we know
// what it tells.
type Driver struct {
	Name     string `json:"name"`              // of the driver, as the user calls it
	Version  string `json:"version,omitempty"` // of the program, as it says
	Session  string `json:"session,omitempty"` // the program's own name for the conversation; empty of what went over the wire
	Attested string `json:"attested"`          // Reported, Wire or FromFile

	// command driver, the begin of a turn: how the session came to be.
	From     string `json:"from,omitempty"`     // the session that it was forked from
	Rendered bool   `json:"rendered,omitempty"` // it began with a rendering of the history

	// usage, the end of a turn: what the program reported, and what went through our gateway; the calls
	// of that stand before it, each in an entry of its own. Of what was imported: what one answer used.
	Used *Used `json:"used,omitempty"`
	Wire *Used `json:"wire,omitempty"`
}

// How we know what an entry tells.
const (
	Reported = "reported" // the program said so
	Wire     = "wire"     // it went through our gateway
	FromFile = "imported" // it is in the file of a session that was imported, and counts for no budget
)

// DriverCommand begins a turn of another program: everything before it in the context is in
// its session.
const DriverCommand = "driver"

// DriverModeCommand chooses one of the program's own modes (Mode) for an agent, from its next turn
// on, and for the children born after it.
const DriverModeCommand = "driver_mode"

// Wired reports whether an entry is one call that went through our gateway.
func (m Meta) Wired() bool {
	return m.Driver != nil && m.Driver.Attested == Wire && m.Driver.Session == "" && m.Call != nil
}

// Summed reports whether an entry ends a turn whose calls are in entries of their own.
func (m Meta) Summed() bool { return m.Driver != nil && m.Driver.Wire != nil }

// Brought reports whether an entry tells what an answer used before it was imported.
func (m Meta) Brought() bool {
	return m.Driver != nil && m.Driver.Attested == FromFile && m.Driver.Used != nil
}

// Spoke returns the model of an entry about usage.
func (m Meta) Spoke() string {
	if m.Call != nil {
		return m.Call.Model
	}
	return m.Driver.Used.Model
}

// MismatchCommand is the command of a note that a program reported something else than what went
// over the wire.
const MismatchCommand = "mismatch"

// Used describes what a turn used.
type Used struct {
	Model      string `json:"model,omitempty"` // vendor/name; of what was imported
	Input      int64  `json:"input"`
	Output     int64  `json:"output"`
	CacheRead  int64  `json:"cache_read"`
	CacheWrite int64  `json:"cache_write"`
	Reasoning  int64  `json:"reasoning"`
	Cost       int64  `json:"cost_nano_usd"`
}

// Tokens returns all tokens, each counted once.
func (u Used) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }
