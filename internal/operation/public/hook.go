package public

// Hook is a command that runs on an event of agents.
type Hook struct {
	Event     string `json:"event"`
	Matcher   string `json:"matcher"` // empty: always
	Command   string `json:"command"`
	Scope     string `json:"scope"` // user or project
	From      string `json:"from"`
	TimeoutMS int64  `json:"timeout_ms"`
	Required  bool   `json:"required"`
	Confined  bool   `json:"confined"`
}

// Hooks are those of a workspace.
type Hooks struct {
	Hooks []Hook   `json:"hooks"`
	Notes []string `json:"notes"` // what is not used, and why
}
