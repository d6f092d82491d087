package httpapi

import (
	"math"
	"net/http"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/files"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func (a Agents) fileRoutes() []Route {
	const one = "/api/v1/agents/{ref}"
	doc := func(id, summary string, query ...Param) Doc {
		return Doc{ID: id, Tag: "files", Summary: summary, Query: query}
	}
	message := func(name, about string) Param { return Param{Name: name, About: about, Form: "integer"} }
	return []Route{
		Does(Route{Method: http.MethodGet, Path: one + "/files", Doc: doc("listFiles", "List an agent's files as they were",
			message("at", "when this message was written; absent: as the newest state tells them"))}, http.StatusOK, a.files),
		Does(Route{Method: http.MethodGet, Path: one + "/states", Doc: doc("listStates", "List the states of an agent's files, oldest first")},
			http.StatusOK, a.fileStates),
		Does(Route{Method: http.MethodGet, Path: one + "/diff", Doc: doc("diffFiles", "Show how an agent's files changed, whoever changed them: since its last turn began",
			message("from", "since this message was written, instead"),
			message("to", "with from: until this one was written"),
			message("state", "what the state in this message changed, instead"))}, http.StatusOK, a.diff),
		Does(Route{Method: http.MethodPost, Path: one + "/restore", Limit: recordBody, Doc: doc("restoreFiles",
			"Make an agent's files what they were; what others could have changed is kept, and listed")}, http.StatusOK, a.restore),
	}
}

func (a Agents) files(c *Call, _ None) (public.FileList, error) {
	at, err := c.Number("at", 1, math.MaxInt64, 0)
	if err != nil {
		return public.FileList{}, err
	}
	found, err := a.find(c)
	if err != nil {
		return public.FileList{}, err
	}
	s, err := a.Workspace.Files().StateAt(c.Context(), found, id.Message(at))
	if err != nil {
		return public.FileList{}, err
	}
	return a.Workspace.Files().ShowFiles(s)
}

func (a Agents) fileStates(c *Call, _ None) (public.FileStates, error) {
	found, err := a.find(c)
	if err != nil {
		return public.FileStates{}, err
	}
	return a.Workspace.Files().ShowStates(c.Context(), found)
}

// mostShown is how many bytes of diffs one answer has, more or less.
const mostShown = 4 << 20

func (a Agents) diff(c *Call, _ None) (public.FileChanges, error) {
	var n [3]id.Message
	for i, name := range []string{"from", "to", "state"} {
		got, err := c.Number(name, 1, math.MaxInt64, 0)
		if err != nil {
			return public.FileChanges{}, err
		}
		n[i] = id.Message(got)
	}
	if n[2] != 0 && (n[0] != 0 || n[1] != 0) {
		return public.FileChanges{}, badQuery("state", "does not go with from and to", "")
	}
	if n[1] != 0 && n[0] == 0 {
		return public.FileChanges{}, badQuery("to", "goes with from", "")
	}
	found, err := a.find(c)
	if err != nil {
		return public.FileChanges{}, err
	}
	var changes []session.FileChange
	if n[2] != 0 {
		changes, err = a.Workspace.Files().DiffState(c.Context(), found, n[2])
	} else {
		changes, err = a.Workspace.Files().DiffFiles(c.Context(), found, n[0], n[1])
	}
	out := session.ShowChanges(changes)
	size := 0
	for i := range out.Changes {
		one := &out.Changes[i]
		if size += len(one.Diff); size > mostShown {
			one.Diff, one.Note = "", "there is too much to show at once: ramet diff shows it"
		}
	}
	return out, err
}

// RestoreInput asks for files to be what they were.
type RestoreInput struct {
	At   id.Message `json:"at,omitempty"`   // when this message was written
	Last bool       `json:"last,omitempty"` // before the last turn that changed files, or the last restore, instead
	// Rewind takes the conversation back to the message too.
	Rewind bool     `json:"rewind,omitempty"`
	Paths  []string `json:"paths,omitempty"` // and what is below; none: all
	Force  bool     `json:"force,omitempty"` // also what others could have changed
	// Commands restores also what changed while a command of the agent was running.
	Commands bool `json:"commands,omitempty"`
	Plan     bool `json:"plan,omitempty"` // only say what would happen
}

func (in RestoreInput) check() error {
	switch {
	case in.At < 0:
		return pointed("/at", fault.New(fault.InvalidID, "%d is not the id of a message", in.At))
	case (in.At == 0) != in.Last:
		return pointed("/at", fault.New(fault.Usage, "either at or last says to when"))
	case in.Rewind && (in.Last || len(in.Paths) > 0):
		return pointed("/rewind", fault.New(fault.Usage, "rewind goes with at, and without paths"))
	}
	for _, p := range in.Paths {
		if _, err := files.CheckPath(p); err != nil {
			return pointed("/paths", err)
		}
	}
	return nil
}

func (a Agents) restore(c *Call, in RestoreInput) (public.Restore, error) {
	if err := in.check(); err != nil {
		return public.Restore{}, err
	}
	found, err := a.find(c)
	if err != nil {
		return public.Restore{}, err
	}
	var done session.Restored
	if in.Rewind {
		done, err = a.Workspace.Files().RewindFiles(c.Context(), found, session.Rewinding{To: in.At, Force: in.Force, Commands: in.Commands, Plan: in.Plan})
	} else {
		done, err = a.Workspace.Files().Restore(c.Context(), session.Restoring{Agent: found, At: in.At, Last: in.Last, Paths: in.Paths, Force: in.Force, Commands: in.Commands, Plan: in.Plan})
	}
	if err != nil {
		return public.Restore{}, err
	}
	return done.Show(in.Plan), nil
}
