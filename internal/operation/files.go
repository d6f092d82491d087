package operation

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/files/worktree"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
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
	On: listFiles,
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

func listFiles(ctx context.Context, e *Env, a agent.Agent, in FilesInput) (out FilesListed, err error) {
	if in.States {
		states, err := listStates(ctx, e, a, AgentInput{})
		return FilesListed{states: &states}, err
	}
	s, err := e.Files().StateAt(ctx, a, in.At)
	if err != nil {
		return out, err
	}
	out.files, err = e.Files().ShowFiles(s)
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
	On: listStates,
}

func listStates(ctx context.Context, e *Env, a agent.Agent, _ AgentInput) (public.FileStates, error) {
	return e.Files().ShowStates(ctx, a)
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
	writeTable(w, "no states", []string{"ID", "WHEN", "CHANGED", "BYTES", "STATE", "BRANCH"}, list.States, func(s public.FileState) []string {
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
		return []string{s.ID.String(), string(s.When), fmt.Sprint(s.Changed), fmt.Sprint(s.Bytes), root, branch}
	})
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
	On: diff,
	Public: func(f Face, out public.FileChanges) any {
		if f == HTTP {
			limitDiffs(out.Changes)
		}
		return out
	},
	Text: writeDiff,
}

func diff(ctx context.Context, e *Env, a agent.Agent, in DiffInput) (public.FileChanges, error) {
	var changes []public.FileChange
	var err error
	if in.State != 0 {
		changes, err = e.Files().DiffState(ctx, a, in.State)
	} else {
		changes, err = e.Files().DiffFiles(ctx, a, in.From, in.To)
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

// ListTrees lists the worktrees of agents.
var ListTrees = Op[NoInput, TreeList]{
	Doc: Doc{Name: "worktree list", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "List the worktrees of agents",
		Help: `List the worktrees of agents: owner, branch, whether there are uncommitted changes, how many commits
are not in the parent's folder, and path.`},
	Run: func(ctx context.Context, e *Env, _ NoInput) (TreeList, error) {
		out := TreeList{Trees: []TreeRow{}}
		trees, err := e.Trees().List(ctx)
		for _, t := range trees {
			out.Trees = append(out.Trees, describeTree(ctx, t))
		}
		// In the order of the agents; git lists by names, which are random.
		slices.SortStableFunc(out.Trees, func(a, b TreeRow) int { return cmp.Compare(a.born, b.born) })
		return out, err
	},
	Text: writeTrees,
}

// TreeList is the worktrees of agents.
type TreeList struct {
	Trees []TreeRow `json:"worktrees"`
}

// describeTree describes a worktree. One that cannot be read is listed with its fault.
func describeTree(ctx context.Context, t session.Tree) TreeRow {
	out := TreeRow{Child: t.Child, Dir: t.Dir, Branch: public.Optional(t.Branch)}
	if t.Owner != nil {
		out.Name, out.Status, out.born = public.Optional(t.Owner.Name), public.Optional(string(t.Owner.Status)), t.Owner.Genesis
	}
	state, err := t.State(ctx)
	if err != nil {
		out.Error = public.Optional(string(fault.CodeOf(err)))
		return out
	}
	out.Dirty, out.Ahead = &state.Dirty, &state.Ahead
	return out
}

// TreeRow is a worktree of an agent.
type TreeRow struct {
	Child  id.Agent `json:"child_uuid"`
	Name   *string  `json:"name"`
	Status *string  `json:"status"` // null: no such agent
	Branch *string  `json:"branch"`
	Dir    string   `json:"dir"`
	Dirty  *bool    `json:"dirty"`
	Ahead  *int     `json:"ahead"`
	Error  *string  `json:"error"` // a code

	born id.Message
}

func writeTrees(w *printer.Writer, _ NoInput, l TreeList) {
	writeTable(w, "no worktrees", []string{"CHILD", "STATUS", "BRANCH", "DIRTY", "AHEAD", "FOLDER"}, l.Trees, func(t TreeRow) []string {
		row := []string{t.Child.Short(), "-", "-", "-", "-", t.Dir}
		for i, p := range []*string{t.Name, t.Status, t.Branch, t.Error} {
			if p != nil {
				row[i] = *p
			}
		}
		if t.Dirty != nil && t.Ahead != nil {
			row[3], row[4] = map[bool]string{true: "yes", false: "no"}[*t.Dirty], fmt.Sprint(*t.Ahead)
		}
		return row
	})
}

// RemoveTreeInput names the agent whose worktree is removed.
type RemoveTreeInput struct {
	Child AgentRef `json:"child" arg:"CHILD" help:"the agent that has the worktree"`
	Force bool     `json:"force,omitempty" help:"even with uncommitted changes, which are moved to the trash, or unmerged commits, whose branch is kept"`
}

// RemoveTree removes a worktree.
var RemoveTree = Op[RemoveTreeInput, TreeRemoved]{
	Doc: Doc{Name: "worktree rm", Group: "agents", Faces: CLI,
		Summary: "Remove the worktree of an agent, and its branch",
		Help: `Remove the worktree of an agent and its branch. The command refuses (CONFLICT, exit 4) while there are
uncommitted changes or unmerged commits. If there are files that git doesn't have, including ignored
ones, the folder is moved to the trash ("ramet trash"). The agent lives on without a folder.`},
	Run: func(ctx context.Context, e *Env, in RemoveTreeInput) (out TreeRemoved, err error) {
		t, err := e.Trees().Find(ctx, "remove", string(in.Child))
		if err != nil {
			return out, err
		}
		done, err := e.Files().RemoveTree(ctx, t, in.Force)
		return TreeRemoved{t.Child, t.Dir, public.Optional(t.Branch), done.BranchDeleted, public.Optional(done.Trashed)}, err
	},
	Text: writeRemovedTree,
}

// TreeRemoved is a worktree that was removed.
type TreeRemoved struct {
	Child         id.Agent `json:"child_uuid"`
	Dir           string   `json:"dir"`
	Branch        *string  `json:"branch"`
	BranchDeleted bool     `json:"branch_deleted"`
	Trashed       *string  `json:"trashed"` // its id in the trash; null: git has all that was in it
}

func writeRemovedTree(w *printer.Writer, _ RemoveTreeInput, r TreeRemoved) {
	w.Line("removed %s", r.Dir)
	if r.Trashed != nil {
		w.Line("it is in the trash, because it had files that git does not have: %s", *r.Trashed)
	}
	switch {
	case r.BranchDeleted:
		w.Line("deleted branch %s", *r.Branch)
	case r.Branch != nil:
		w.Line("the branch %s stays", *r.Branch)
	}
}

// MergeInput names a child, and the folder that gets its work.
type MergeInput struct {
	Child  AgentRef `json:"child" arg:"CHILD" help:"the agent that has a worktree"`
	Into   Path     `json:"into,omitempty" help:"a folder of the same repository (default: that of the child's parent)"`
	Remove bool     `json:"rm,omitempty" help:"remove the worktree afterwards, even if you made it"`
}

// Merge brings back the work of a child.
var Merge = Op[MergeInput, Merged]{
	Doc: Doc{Name: "merge", Group: "agents", Faces: CLI,
		Summary: "Merge a child's worktree",
		Help: `Merge the worktree of a child ("ramet fork --worktree") into its parent's folder. Uncommitted
changes of the child are committed first. Ignored files stay where they are; an ignored file
in the parent's folder that is in the way of a merged one is moved to the trash ("ramet trash").
Afterwards the worktree is removed if an agent made it for its child. One that you made stays until
"ramet worktree rm"; {rm} removes it now. While the child is working, the merge is refused (CONFLICT).

If both sides changed the same lines, or uncommitted changes in the folder are in the way, the
merge is undone and the files are listed (CONFLICT, exit 4). Nothing is lost on either side. If there
is nothing to merge, the command says so and exits with 0. Hooks of the repository don't run.`},
	Run: func(ctx context.Context, e *Env, in MergeInput) (out Merged, err error) {
		t, err := e.Trees().Find(ctx, "merge", string(in.Child))
		if err != nil {
			return out, err
		}
		into := cmp.Or(string(in.Into), t.Home)
		out.Child, out.label = t.Child, t.Label()
		out.done, out.Cleaned, err = e.Files().Merge(ctx, t, into, in.Remove)
		d := out.done
		out.Into, out.Branch, out.Commit, out.Commits, out.Files, out.Committed = d.Into, public.Optional(d.Branch), public.Optional(d.Commit), d.Commits, d.Files, d.Committed
		for _, moved := range d.Trashed {
			out.Trashed = append(out.Trashed, moved.Name())
		}
		if d.TreeTrashed != "" {
			out.Trashed = append(out.Trashed, d.TreeTrashed)
		}
		return out, err
	},
	Text: writeMerged,
}

// Merged is the work that a merge brought.
type Merged struct {
	Child     id.Agent `json:"child_uuid"`
	Into      string   `json:"into"`
	Branch    *string  `json:"branch"`
	Commit    *string  `json:"commit"`
	Commits   int      `json:"commits"`
	Files     []string `json:"files"`
	Committed bool     `json:"committed"`
	Cleaned   bool     `json:"cleaned,omitempty"`
	Trashed   []string `json:"trashed,omitempty"` // ids in the trash

	label string
	done  worktree.Merged
}

func writeMerged(w *printer.Writer, _ MergeInput, m Merged) {
	if m.Commit == nil {
		w.Line("nothing to merge: %s has everything of %s", m.Into, m.label)
	} else {
		w.Line("merged %s of %s into %s, %s changed", text.Count(m.Commits, "commit"), m.label, m.Into, text.Count(len(m.Files), "file"))
	}
	for _, e := range m.done.Trashed {
		w.Line("%s was ignored by git and in the way: it is in the trash (%s)", text.Name(e.Path), e.Name())
	}
	if m.Cleaned {
		w.Line("its worktree is removed")
	}
	if m.done.TreeTrashed != "" {
		w.Line("%v", w.Dim("it had files that git does not have; they are in the trash: "+m.done.TreeTrashed))
	}
}
