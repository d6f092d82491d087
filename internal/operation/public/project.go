package public

import (
	"encoding/json"
	"time"

	"ramet/internal/base/printer"
	"ramet/internal/core/registry"
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

// Text implements printer.Datum.
func (l ServerLogin) Text(w *printer.Writer) { w.Line("%s: %s", l.Server, l.Outcome) }

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

// BackgroundKernel describes the background kernel.
type BackgroundKernel struct {
	Running    bool            `json:"running"`
	Version    string          `json:"version,omitempty"`
	PID        int             `json:"pid,omitempty"`
	StartedAt  *time.Time      `json:"started_at,omitempty"`
	Log        string          `json:"log"`
	Socket     string          `json:"socket"`
	URL        string          `json:"url,omitempty"`        // of the page; absent: nothing asked for it yet
	IdleUntil  *time.Time      `json:"idle_until,omitempty"` // when it ends if nothing happens; absent: something keeps it
	Workspaces []HeldWorkspace `json:"workspaces"`
}

// HeldWorkspace is a workspace that the background kernel holds.
type HeldWorkspace struct {
	Key       string `json:"key"`
	Name      string `json:"name"`
	Folder    string `json:"folder"`
	Working   int    `json:"working"`          // agents in a turn
	Commands  int    `json:"commands"`         // agents that left commands running
	Questions int    `json:"questions"`        // that wait for an answer
	Clients   int    `json:"clients"`          // that watch what happens
	Served    int    `json:"served"`           // requests of "ramet serve"
	Failed    string `json:"failed,omitempty"` // why it was closed for good
}

// Keeps returns why the workspace keeps the kernel from ending; empty: it does not.
func (w HeldWorkspace) Keeps() string {
	switch {
	case w.Working > 0:
		return "agents work"
	case w.Questions > 0:
		return "questions are open"
	case w.Commands > 0:
		return "commands run"
	case w.Clients > 0:
		return "clients are connected"
	case w.Served > 0:
		return "the page is served"
	}
	return ""
}

// Drivers are the programs that can drive agents.
type Drivers struct {
	Drivers []Driver `json:"drivers"`
}

// Driver is one of them.
type Driver struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	State   string   `json:"state"` // missing, found (it was not asked), ready, unusable, off
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

// Driven describes an agent that another program drives, in lists.
type Driven struct {
	Driver   string `json:"driver"`
	Asks     *bool  `json:"asks"`     // the program asks before it changes anything; null: unknown here
	Boxed    *bool  `json:"boxed"`    // it runs confined
	Spending string `json:"spending"` // OnTheWire or ReportedOnly
	Wire     *Spent `json:"wire"`     // what went through ramet's gateway; null: nothing
	Reported *Spent `json:"reported"` // what the program reported; null: nothing
}

// How what such an agent spends is known.
const (
	OnTheWire    = "wire"
	ReportedOnly = "reported only"
)

// FormatDriven returns the shape of what is known. metered: what it spends from now on goes through the gateway.
func FormatDriven(driver string, by registry.Accounts, metered bool) *Driven {
	d := &Driven{Driver: driver, Spending: ReportedOnly, Wire: FormatSpent(by.Wire), Reported: FormatSpent(by.Reported)}
	if by.Wire != nil || metered && by.Reported == nil {
		d.Spending = OnTheWire
	}
	return d
}

// FormatSpent returns the shape of what was spent; nil for none.
func FormatSpent(s *registry.SpentBy) *Spent {
	if s == nil {
		return nil
	}
	return &Spent{s.Tokens, int64(s.Cost)}
}

// Program lists the commands and choices that a driving program offers its user, by the program's own words, as
// it told when it ran last.
type Program struct {
	Driver   string   `json:"driver"`
	Mode     *string  `json:"mode"`  // its own, in which the agent's turns run; null: as the program likes
	Boxed    *bool    `json:"boxed"` // in that mode it runs confined; null: unknown here
	Modes    []Choice `json:"modes"`
	Models   []Choice `json:"models"` // MODEL in driver/NAME/MODEL
	Efforts  []Choice `json:"efforts"`
	Commands []Choice `json:"commands"` // without the slash
}

// Choice is one of several that can be chosen.
type Choice struct {
	Word  string  `json:"word"`
	Title string  `json:"title"`
	About string  `json:"about"`
	Hint  *string `json:"hint"` // what a command wants to be told; null: nothing
}
