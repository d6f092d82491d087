package public

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
