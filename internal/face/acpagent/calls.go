package acpagent

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/toolinfo"
	"ramet/internal/driver"
)

// kindOf returns what a tool does, in the editor's words. Calls of other programs are named after
// their kind.
func kindOf(tool string) sdk.ToolKind {
	if info := toolinfo.Find(tool); info != nil {
		return sdk.ToolKind(info.Kind)
	}
	if slices.Contains(toolinfo.Kinds(), tool) {
		return sdk.ToolKind(tool)
	}
	return sdk.ToolKindOther
}

// arguments are those that tell most of a call.
type arguments struct {
	Command, Path, Pattern, URL, Title, Kind string
	Content                                  *string
	Old                                      string `json:"old_string"`
	New                                      string `json:"new_string"`
	Edits                                    []struct {
		Old string `json:"old_string"`
		New string `json:"new_string"`
	}
	Steps []struct{ Step, State string }
	Paths []string
}

func (c *conversation) calls(p history.Part, past bool) {
	var a arguments
	_ = json.Unmarshal(p.Args, &a) // a call whose arguments nobody can read is shown by its name
	if p.Name == planTool {
		c.planned(a)
	}
	kind := kindOf(p.Name)
	if kind == sdk.ToolKindOther && a.Kind != "" {
		kind = kindOf(a.Kind)
	}
	opts := []sdk.ToolCallStartOpt{sdk.WithStartKind(kind), sdk.WithStartStatus(sdk.ToolCallStatusPending)}
	if len(p.Args) > 0 {
		opts = append(opts, sdk.WithStartRawInput(p.Args))
	}
	for _, path := range append([]string{a.Path}, a.Paths...) {
		if path != "" {
			opts = append(opts, sdk.WithStartLocations([]sdk.ToolCallLocation{{Path: c.absolute(path)}}))
		}
	}
	if diffs := c.diffs(p.Name, a, past); len(diffs) > 0 {
		opts = append(opts, sdk.WithStartContent(diffs))
	}
	about := cmp.Or(a.Title, a.Command, a.Path, a.Pattern, a.URL)
	c.tell(sdk.StartToolCall(sdk.ToolCallId(p.CallID), titled(p.Name, about), opts...))
	if !past {
		c.happen.note(func() { c.happen.called[p.CallID] = true })
	}
}

func titled(tool, about string) string {
	about = text.Line(about, 200)
	switch {
	case about == "":
		return tool
	case tool == "bash", strings.HasPrefix(about, tool):
		return about
	}
	return tool + " " + about
}

func (c *conversation) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.cwd, path)
}

// diffs returns the changes that a call is about to make, for the editor to show before they are permitted.
func (c *conversation) diffs(tool string, a arguments, past bool) []sdk.ToolCallContent {
	switch {
	case a.Path == "":
	case tool == "write" && a.Content != nil:
		if old, ok := c.before(a.Path); ok && !past {
			return []sdk.ToolCallContent{sdk.ToolDiffContent(c.absolute(a.Path), *a.Content, old)}
		}
		return []sdk.ToolCallContent{sdk.ToolDiffContent(c.absolute(a.Path), *a.Content)}
	case tool == "edit":
		var out []sdk.ToolCallContent
		if a.Old != "" {
			out = append(out, sdk.ToolDiffContent(c.absolute(a.Path), a.New, a.Old))
		}
		for _, e := range a.Edits {
			out = append(out, sdk.ToolDiffContent(c.absolute(a.Path), e.New, e.Old))
		}
		return out
	}
	return nil
}

// mostShown limits the old content of a file that an editor receives.
const mostShown = 256 << 10

// before is the text of a file in the session's folder; false: there is none that can be shown.
func (c *conversation) before(path string) (string, bool) {
	if rel, err := filepath.Rel(c.cwd, c.absolute(path)); err == nil {
		path = rel
	}
	root, err := os.OpenRoot(c.cwd)
	if err != nil {
		return "", false
	}
	defer root.Close()
	info, err := root.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > mostShown {
		return "", false
	}
	f, err := root.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostShown))
	return strings.ToValidUTF8(string(data), "\uFFFD"), err == nil
}

// mostAnswer limits the part of an answer that an editor receives.
const mostAnswer = 64 << 10

// answered reports the end of a call. An edit keeps the differences that were sent with the call.
func (c *conversation) answered(p history.Part) {
	status := sdk.ToolCallStatusCompleted
	if p.IsError {
		status = sdk.ToolCallStatusFailed
	}
	opts := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(status)}
	said := cmp.Or(p.Show, p.Text)
	if edited := kindOf(p.Name) == sdk.ToolKindEdit && !p.IsError && isDiff(said) && p.Text != said; !edited && said != "" {
		if len(said) > mostAnswer {
			said = strings.ToValidUTF8(said[:mostAnswer], "") + "\n[the rest is left out]"
		}
		opts = append(opts, sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fenced(said)))}))
	}
	c.tell(sdk.UpdateToolCall(sdk.ToolCallId(p.CallID), opts...))
}

func isDiff(s string) bool { return strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "@@ ") }

// fenced is plain text where an editor expects Markdown.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	word := ""
	if isDiff(s) {
		word = "diff"
	}
	return fence + word + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}

// planTool is the tool with which our own agents show what they mean to do.
const planTool = "plan"

// planned tells a plan of our own.
func (c *conversation) planned(a arguments) {
	var steps []driver.Step
	for _, s := range a.Steps {
		if s.State == "dropped" {
			continue
		}
		steps = append(steps, driver.Step{Text: s.Step, Status: map[string]string{"doing": "in_progress", "done": "completed"}[s.State]})
	}
	if len(steps) > 0 {
		c.plan(steps)
	}
}

func (c *conversation) plan(steps []driver.Step) {
	entries := make([]sdk.PlanEntry, 0, len(steps))
	for _, s := range steps {
		status := cmp.Or(sdk.PlanEntryStatus(s.Status), sdk.PlanEntryStatusPending)
		entries = append(entries, sdk.PlanEntry{Content: s.Text, Priority: sdk.PlanEntryPriorityMedium, Status: status})
	}
	c.tell(sdk.UpdatePlan(entries...))
}
