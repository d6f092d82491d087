package public

// ForeignSession is a session of another program.
type ForeignSession struct {
	Program  string  `json:"program"`
	Session  string  `json:"session"`
	Path     string  `json:"path"`
	Cwd      string  `json:"cwd"`
	Title    string  `json:"title"`
	Version  string  `json:"version"`
	Model    string  `json:"model"`
	Started  string  `json:"started"`
	Of       *string `json:"of"` // the session that it is a part of
	Imported bool    `json:"imported"`
}

// Sessions is the output of import --list.
type Sessions struct {
	Sessions []ForeignSession `json:"sessions"`
	Failed   []ImportFailure  `json:"failed"` // what could not be read
}

// Import is the result of importing one session.
type Import struct {
	ForeignSession
	Agent    *string          `json:"agent_uuid"`
	Name     *string          `json:"name"`
	New      bool             `json:"new"`
	Entries  int              `json:"entries"`
	Branches int              `json:"branches"`
	Lines    int64            `json:"lines"`
	Taken    int64            `json:"taken"`
	Skipped  map[string]int64 `json:"skipped"`
	Unknown  map[string]int64 `json:"unknown"` // lines that were kept as they came, by their type; they are among Taken
	Used     *Spent           `json:"used"`    // before it was imported, as the file tells; null: it does not
	Notes    []string         `json:"notes"`
}

// ImportFailure is one that could not be imported, or a place that could not be looked at.
type ImportFailure struct {
	Path    string `json:"path"`
	Session string `json:"session"`
	Why     string `json:"why"`
}

// Imports is the output of import.
type Imports struct {
	Imported []Import        `json:"imported"`
	Failed   []ImportFailure `json:"failed"`
	Plan     bool            `json:"plan"`
}

// Sourced is the proof that what was imported is what its file says.
type Sourced struct {
	Agent    string `json:"agent_uuid"`
	Program  string `json:"program"`
	Session  string `json:"session"`
	SHA256   string `json:"sha256"`
	Entries  int    `json:"entries"`
	Lines    int64  `json:"lines"`
	Redacted int    `json:"redacted"`
	Since    int64  `json:"grown_by"` // bytes, since it was imported
}

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
