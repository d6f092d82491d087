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
