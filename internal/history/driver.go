package history

// Driver says that an entry is of another program that drives the agent, and how we know
// what it tells.
type Driver struct {
	Name     string `json:"name"`              // of the driver, as the user calls it
	Version  string `json:"version,omitempty"` // of the program, as it says
	Session  string `json:"session"`           // the program's own name for the conversation
	Attested string `json:"attested"`          // Reported or Wire

	// command driver, the begin of a turn: how the session came to be.
	From     string `json:"from,omitempty"`     // the session that it was forked from
	Rendered bool   `json:"rendered,omitempty"` // it began with a rendering of the history

	Used *Used `json:"used,omitempty"` // usage: what the program reported
}

// How we know what an entry tells.
const (
	Reported = "reported" // the program said so
	Wire     = "wire"     // it went through our gateway
)

// DriverCommand begins a turn of another program: everything before it in the context is in
// its session.
const DriverCommand = "driver"

// Used is what a program reported of a turn.
type Used struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
	Cost       int64 `json:"cost_nano_usd"`
}
