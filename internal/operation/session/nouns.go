package session

import (
	"ramet/internal/kernel"
	"ramet/internal/model/credential"
)

// The verbs of a workspace, by what they act on. Each type is a view of its workspace: it has no state of its own.
type (
	// Agents lists, forks and kills agents.
	Agents struct{ ws *Workspace }
	// Turns runs, stops and awaits turns.
	Turns struct{ ws *Workspace }
	// Models chooses models and efforts.
	Models struct {
		ws  *Workspace
		env *kernel.Environment // of the client that asks; nil: of this process
	}
	// Prompts expands what a user typed into what a model reads.
	Prompts struct{ ws *Workspace }
	// History reads and writes conversations.
	History struct{ ws *Workspace }
	// Mail sends and reads letters.
	Mail struct{ ws *Workspace }
	// Files compares, restores and merges the folders of agents.
	Files struct{ ws *Workspace }
	// Trees makes, finds and merges the git worktrees of agents.
	Trees struct{ ws *Workspace }
	// Care frees space and keeps the trash.
	Care struct{ ws *Workspace }
	// Programs knows the programs that drive agents.
	Programs struct{ ws *Workspace }
	// Servers knows the MCP servers.
	Servers struct{ ws *Workspace }
	// Project reads what the project's own files say: instructions, hooks, and what a person accepted of them.
	Project struct{ ws *Workspace }
)

// Agents returns the verbs on agents.
func (w *Workspace) Agents() Agents { return Agents{w} }

// Turns returns the verbs on turns.
func (w *Workspace) Turns() Turns { return Turns{w} }

// Models returns the verbs on models.
func (w *Workspace) Models() Models { return Models{ws: w} }

// For returns the verbs on models for a client of an environment.
func (w Models) For(e *kernel.Environment) Models { return Models{w.ws, e} }

// keys returns the keys of vendors that the client uses.
func (w Models) keys() *credential.Store {
	if w.env == nil {
		return w.ws.Keys
	}
	return w.ws.Keys.With(w.env.Get)
}

// Prompts returns the verbs on prompts.
func (w *Workspace) Prompts() Prompts { return Prompts{w} }

// History returns the verbs on conversations.
func (w *Workspace) History() History { return History{w} }

// Mail returns the verbs on letters.
func (w *Workspace) Mail() Mail { return Mail{w} }

// Files returns the verbs on folders of agents.
func (w *Workspace) Files() Files { return Files{w} }

// Trees returns the verbs on worktrees.
func (w *Workspace) Trees() Trees { return Trees{w} }

// Care returns the verbs that free space.
func (w *Workspace) Care() Care { return Care{w} }

// Programs returns the verbs on programs that drive agents.
func (w *Workspace) Programs() Programs { return Programs{w} }

// Servers returns the verbs on MCP servers.
func (w *Workspace) Servers() Servers { return Servers{w} }

// Project returns the verbs on the project's own files.
func (w *Workspace) Project() Project { return Project{w} }
