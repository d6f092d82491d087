package public

// Exported describes a file that a conversation was written to.
type Exported struct {
	Path     string          `json:"path"`
	Bytes    int64           `json:"bytes"`
	Agents   int             `json:"agents"`
	Entries  int             `json:"entries"`
	Findings []ExportFinding `json:"findings"` // secrets that went out all the same
	Head     *string         `json:"head"`     // hash of the agent's newest entry, where the file proves it
	Program  *string         `json:"program"`  // that opens it
	Session  *string         `json:"session"`  // as that program calls it
	Open     *string         `json:"open"`     // the command that does
}

// ExportFinding is a secret, or what looks like one. It is not told.
type ExportFinding struct {
	Message int64  `json:"message_id"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Sure    bool   `json:"sure"`
}
