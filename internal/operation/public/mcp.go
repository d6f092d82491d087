package public

import "encoding/json"

// Servers are the MCP servers of a workspace.
type Servers struct {
	Servers []Server `json:"servers"`
	Note    *string  `json:"note"` // what of the project is not used, and why
}

// Server is one of them.
type Server struct {
	Name     string   `json:"name"`
	Scope    string   `json:"scope"` // user, project
	Command  []string `json:"command"`
	URL      *string  `json:"url"`
	State    string   `json:"state"` // known, unasked, unusable, off
	Tools    *int     `json:"tools"` // null: nobody has asked
	Confined bool     `json:"confined"`
	Why      *string  `json:"why"` // why it cannot be used
	Notes    []string `json:"notes"`
}

// ServerTools are the tools of one or of all.
type ServerTools struct {
	Tools []ServerTool `json:"tools"`
	Notes []string     `json:"notes"` // what was left out or changed
}

// ServerTool is one of them.
type ServerTool struct {
	Name        string          `json:"name"` // as models call it
	Server      string          `json:"server"`
	Tool        string          `json:"tool"` // the server's own name
	Description string          `json:"description"`
	ReadOnly    bool            `json:"read_only"` // says the server
	Schema      json.RawMessage `json:"schema"`
	Digest      string          `json:"digest"`  // rules for the tool are bound to it
	Changed     *string         `json:"changed"` // since the server was first asked; then rules by name do not permit it
}

// ServerCall is the result of a call.
type ServerCall struct {
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"` // done, failed, unknown
	Text    string `json:"text"`
	TookMS  int64  `json:"took_ms"`
}
