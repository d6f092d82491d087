package public

// Instructions are the texts before an agent's conversation.
type Instructions struct {
	Agent string        `json:"agent"`
	Size  int           `json:"size"` // bytes of all texts
	Texts []Instruction `json:"texts"`
	Notes []string      `json:"notes"` // what is not used as it is, and why
}

// Instruction is one text of them.
type Instruction struct {
	From       string  `json:"from"`
	Scope      string  `json:"scope"` // user, project
	ImportedBy *string `json:"imported_by"`
	Size       int     `json:"size"`
	Text       string  `json:"text"`
}
