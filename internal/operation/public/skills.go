package public

// Skills lists the skills of agents.
type Skills struct {
	Skills []Skill  `json:"skills"`
	Flaws  []Flaw   `json:"flaws"`  // files that define nothing
	Hidden []Flaw   `json:"hidden"` // definitions behind another one of the same name, which is named
	Notes  []string `json:"notes"`  // what of the project is not used as it is
}

// Skill is one of them.
type Skill struct {
	Name          string   `json:"name"`
	Description   string   `json:"description"`
	Scope         string   `json:"scope"` // user, project
	Path          string   `json:"path"`
	License       *string  `json:"license"`
	Compatibility *string  `json:"compatibility"`
	Allowed       []string `json:"allowed_tools"` // null: all
	Remarks       []string `json:"remarks"`       // what is against the format
}

// Flaw is a file that defines nothing, and why.
type Flaw struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}
