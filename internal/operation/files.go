package operation

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

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

// DiffInput chooses changes of an agent's files.
type DiffInput struct {
	Agent   AgentRef   `json:"agent" arg:"AGENT" slash:"-" help:"the agent"`
	From    id.Message `json:"from,omitempty" arg:"ID" help:"since this message (default: since its last turn began)"`
	To      id.Message `json:"to,omitempty" arg:"ID" slash:"-" help:"with {from}: up to this message"`
	State   id.Message `json:"state,omitempty" faces:"http" help:"show what the state in this message changed instead"`
	Numbers bool       `json:"line_numbers,omitempty" faces:"cli" default:"slash=true" help:"print line numbers"`
}

// Check implements Checker.
func (in *DiffInput) Check() error {
	switch {
	case in.State != 0 && (in.From != 0 || in.To != 0):
		return Invalid("state", fault.InvalidField, "state does not go with from and to")
	case in.To != 0 && in.From == 0:
		return Invalid("to", fault.InvalidField, "to goes with from")
	}
	return nil
}

// Diff shows how an agent's files changed.
var Diff = Op[DiffInput, public.FileChanges]{
	Doc: Doc{Name: "diff", Group: "files", ID: "diffFiles", Route: "GET /api/v1/agents/{ref=agent}/diff 200", Faces: CLI | HTTP | Slash, Effect: Reads,
		Summary: "Show how an agent's files changed",
		Help: `Show how the files of an agent's folder changed, by the agent or by others: since the agent's last
turn began; with one ID, since that message was written; with two, between them.`},
	Run: diff,
	Public: func(f Face, out public.FileChanges) any {
		if f == HTTP {
			limitDiffs(out.Changes)
		}
		return out
	},
	Text: writeDiff,
}

func diff(ctx context.Context, e *Env, in DiffInput) (public.FileChanges, error) {
	a, err := e.Target(ctx, in.Agent)
	if err != nil {
		return public.FileChanges{}, err
	}
	var changes []public.FileChange
	if in.State != 0 {
		changes, err = e.Workspace.Files().DiffState(ctx, a, in.State)
	} else {
		changes, err = e.Workspace.Files().DiffFiles(ctx, a, in.From, in.To)
	}
	return public.FileChanges{Changes: append([]public.FileChange{}, changes...)}, err
}

// maxDiffs limits how many bytes of diffs one HTTP answer has, more or less.
const maxDiffs = 4 << 20

func limitDiffs(changes []public.FileChange) {
	size := 0
	for i := range changes {
		one := &changes[i]
		if size += len(one.Diff); size > maxDiffs {
			one.Diff, one.Note = "", "there is too much to show at once: ramet diff shows it"
		}
	}
}

// writeDiff prints diffs, and a line for each change that has none.
func writeDiff(w *printer.Writer, in DiffInput, out public.FileChanges) {
	if len(out.Changes) == 0 {
		w.Line("no file changed")
		return
	}
	for _, c := range out.Changes {
		if c.Diff == "" || c.Note != "" {
			note := ""
			if c.Note != "" {
				note = " (" + c.Note + ")"
			}
			w.Line("%s %s%v", c.Verb, text.Name(c.Path), w.Dim(note))
		}
		lines := strings.Lines(c.Diff)
		if in.Numbers {
			lines = numberDiffLines(c.Diff)
		}
		for l := range lines {
			w.Line("%s", text.Safe(strings.TrimSuffix(l, "\n")))
		}
	}
}

var hunkHeader = text.Regexp(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// numberDiffLines yields the lines of a unified diff, each with its numbers before and after. Lines
// outside of hunks have none.
func numberDiffLines(diff string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var at, left [2]int // before and after: the next line, and how many the hunk still has
		for line := range strings.Lines(diff) {
			line = strings.TrimSuffix(line, "\n")
			sides := []int{}
			switch {
			case left[0] == 0 && left[1] == 0:
				if m := hunkHeader().FindStringSubmatch(line); m != nil {
					for i := range at {
						at[i], left[i] = parseCount(m[1+2*i], 0), parseCount(m[2+2*i], 1)
					}
				}
			case strings.HasPrefix(line, "-"):
				sides = []int{0}
			case strings.HasPrefix(line, "+"):
				sides = []int{1}
			case strings.HasPrefix(line, " "):
				sides = []int{0, 1}
			}
			if len(sides) > 0 {
				shown := [2]string{}
				for _, i := range sides {
					shown[i] = strconv.Itoa(at[i])
					at[i]++
					left[i]--
				}
				line = fmt.Sprintf("%5s %5s  %s", shown[0], shown[1], line)
			}
			if !yield(line) {
				return
			}
		}
	}
}

func parseCount(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return otherwise
	}
	return n
}
