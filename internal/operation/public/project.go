package public

import (
	"encoding/json"
	"time"
)

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

// Trust lists the things in a project that act, and how they differ from what a person accepted.
type Trust struct {
	Project string  `json:"project"`
	Trusted bool    `json:"trusted"` // everything that acts was accepted as it is
	Given   bool    `json:"given"`   // something was accepted before
	Digest  string  `json:"digest"`  // names what accepting would accept
	Things  []Thing `json:"things"`
}

// Thing is one of them.
type Thing struct {
	Kind      string   `json:"kind"`
	Path      string   `json:"path"`
	SHA256    *string  `json:"sha256"` // null: it would not act
	Size      int      `json:"size"`
	Does      string   `json:"does"`
	Change    string   `json:"change"` // same, new, changed, gone
	Link      *string  `json:"link"`   // where a link inside the project leads
	Refused   *string  `json:"refused"`
	Invisible []string `json:"invisible"`
	Diff      string   `json:"diff"`
}

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
	Tools    *int     `json:"tools"` // null: it was not asked yet
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

// ServerLogin is the result of a login at an MCP server.
type ServerLogin struct {
	Server  string `json:"server"`
	Outcome string `json:"outcome"`
}

// Projects are the workspaces that ramet's home holds, the last used first.
type Projects struct {
	Projects []Project `json:"projects"`
}

// Project is one of them.
type Project struct {
	Name   string    `json:"name"` // of its workspace
	Folder string    `json:"folder"`
	Agents int       `json:"agents"` // the living
	Asked  string    `json:"asked"`  // what was said last to agent 0; empty: nothing
	UsedAt time.Time `json:"used_at"`
	Gone   bool      `json:"gone"` // the folder no longer exists
}

// KnownProject is a project that the background kernel has opened, or can open.
type KnownProject struct {
	Key       string `json:"key"` // names it in paths: /p/KEY/
	Name      string `json:"name"`
	Folder    string `json:"folder"`
	Open      bool   `json:"open"`
	Working   int    `json:"working"`   // agents in a turn; 0 if it is not open
	Questions int    `json:"questions"` // that wait for an answer; 0 if it is not open
	Gone      bool   `json:"gone"`      // the folder does not exist any more
}
