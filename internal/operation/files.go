package operation

import (
	"context"
	"fmt"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
)

// FilesInput chooses a state of an agent's files.
type FilesInput struct {
	Agent  AgentRef   `json:"agent,omitempty" arg:"AGENT" default:"0" help:"the agent"`
	At     id.Message `json:"at,omitempty" help:"as of this message (default: the newest state)"`
	States bool       `json:"states,omitempty" faces:"cli" help:"list the states, not the files of one"`
}

// Check implements Checker.
func (in *FilesInput) Check() error {
	if in.At != 0 && in.States {
		return Invalid("at", fault.Usage, "files: both {at} and {states}").Hint("leave one of them out")
	}
	return nil
}

// Files lists an agent's files, or the states of them.
var Files = Op[FilesInput, FilesListed]{
	Doc: Doc{Name: "files", Group: "files", ID: "listFiles", Route: "GET /api/v1/agents/{ref=agent}/files 200", Faces: CLI | HTTP, Effect: Reads,
		Summary: "List an agent's files as they were",
		Help: `List the files of an agent's folder (default: agent 0) as of the newest entry of its history;
with {at} ID, as of that message. {states} lists the recorded states instead. A state is
recorded before the first call of a turn that can write and after the last, if something
changed, and by every mark and restore.

Three kinds of files are recorded as a hash only: files over 50 MB, files that contain one of
your keys, and what exceeds the limit of 1 GB. They can be restored while they are in the trash
("ramet trash"). Ignored files are not recorded ("ramet config get files").`},
	Run: listFiles,
	Public: func(_ Face, out FilesListed) any {
		if out.states != nil {
			return *out.states
		}
		return out.files
	},
	Text: func(w *printer.Writer, _ FilesInput, out FilesListed) {
		if out.states != nil {
			writeStates(w, *out.states)
			return
		}
		writeFiles(w, out.files)
	},
}

// FilesListed is a list of files, or of their states.
type FilesListed struct {
	files  public.FileList
	states *public.FileStates
}

func listFiles(ctx context.Context, e *Env, in FilesInput) (out FilesListed, err error) {
	if in.States {
		states, err := listStates(ctx, e, AgentInput{in.Agent})
		return FilesListed{states: &states}, err
	}
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return out, err
	}
	s, err := e.Workspace.Files().StateAt(ctx, a, in.At)
	if err != nil {
		return out, err
	}
	out.files, err = e.Workspace.Files().ShowFiles(s)
	return out, err
}

// AgentInput names an agent.
type AgentInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" help:"0, a name, a uuid or the beginning of one"`
}

// FileStates lists the states of an agent's files. On the command line it is "files --states".
var FileStates = Op[AgentInput, public.FileStates]{
	Doc: Doc{Name: "states", Group: "files", ID: "listStates", Route: "GET /api/v1/agents/{ref=agent}/states 200", Faces: HTTP, Effect: Reads,
		Summary: "List the states of an agent's files, oldest first"},
	Run: listStates,
}

func listStates(ctx context.Context, e *Env, in AgentInput) (public.FileStates, error) {
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return public.FileStates{}, err
	}
	return e.Workspace.Files().ShowStates(ctx, a)
}

// writeFiles prints files. Folders show in their paths.
func writeFiles(w *printer.Writer, list public.FileList) {
	for _, f := range list.Files {
		note := ""
		switch {
		case f.Kind == "folder":
			continue
		case f.Kind == "repository":
			note = "  (another repository: its files are neither kept nor restored)"
		case f.Hash == "":
			note = "  (not known)"
		case !f.Restorable:
			note = "  (not restorable)"
		}
		w.Line("%s %9d  %s%v", f.Mode, f.Size, text.Name(f.Path), w.Dim(note))
	}
	if list.Partial {
		w.Line("%v", w.Dim(fmt.Sprintf("partial: %d of %d", list.Seen, list.Of)))
	}
}

func writeStates(w *printer.Writer, list public.FileStates) {
	if len(list.States) == 0 {
		w.Line("no states")
		return
	}
	rows := [][]string{{"ID", "WHEN", "CHANGED", "BYTES", "STATE", "BRANCH"}}
	for _, s := range list.States {
		root, branch := "none: ", ""
		if s.Root != nil {
			root = (*s.Root)[:12]
		} else if s.None != nil {
			root += *s.None
		}
		if s.Partial {
			root += fmt.Sprintf(" (partial: %d of %d)", s.Seen, s.Of)
		}
		if s.Branch != nil {
			branch = *s.Branch
		}
		rows = append(rows, []string{s.ID.String(), string(s.When), fmt.Sprint(s.Changed), fmt.Sprint(s.Bytes), root, branch})
	}
	w.Table(rows)
}
