package tool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/shape"
	"ramet/internal/core/kit"
	"ramet/internal/core/toolinfo"
	"ramet/internal/kernel/process"
	"ramet/internal/testkit"
	"ramet/internal/tools/local"
	"ramet/internal/tools/mcp"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/tool"
)

// kernel has worktrees, and nothing else.
type kernel struct{ process.Kernel }

func (kernel) Worktrees() process.Trees { return struct{ process.Trees }{} }
func (kernel) Defined() bool            { return false }
func (kernel) Drivers() []string        { return nil }

// allTools returns every built-in tool.
func allTools(t *testing.T) tool.Box {
	l := testkit.Must(local.New(local.Options{Root: t.TempDir(), Jobs: local.NewJobs(nil)}))(t)
	many := mcp.List{Server: "many"}
	for i := range 100 {
		many.Tools = append(many.Tools, mcp.Definition{Name: fmt.Sprintf("many__%d", i)})
	}
	pool := &mcp.Pool{}
	t.Cleanup(pool.Close)
	box := slices.Concat(l.Tools(), process.New(kernel{}, nil, ""), talk.New(nil), pool.Box([]mcp.List{many}, 0))
	box = process.Alone(box)
	return append(box, process.NewRecall(nil, "", 0), talk.NewSkill([]kit.Skill{{Name: "one"}}))
}

// A tool and its description agree, and there is none without the other.
func TestEveryToolIsDescribed(t *testing.T) {
	described := map[string]bool{}
	for _, one := range allTools(t) {
		s := one.Spec()
		info := toolinfo.Find(s.Name)
		if info == nil {
			t.Errorf("%s has no file in internal/core/toolinfo", s.Name)
			continue
		}
		described[s.Name] = true
		if s.Access != info.Access || !strings.HasPrefix(s.Description, info.Description) {
			t.Errorf("%s does not use tool.Describe", s.Name)
		}
		if s.Summary == nil && len(s.Args.Fields()) > 1 {
			t.Errorf("%s has no Summary", s.Name)
		}
		has := func(argument string) bool {
			return slices.ContainsFunc(s.Args.Fields(), func(f shape.Field) bool { return f.Name == argument })
		}
		matched := info.Subject != toolinfo.None && info.Subject != toolinfo.Child && info.Subject != toolinfo.Driver
		if matched != (s.Subject != nil) {
			t.Errorf("%s: rules match its %s, but Subject is there: %v", s.Name, info.Subject, s.Subject != nil)
		}
		needs := map[toolinfo.Subject]string{toolinfo.Command: "command", toolinfo.File: "path", toolinfo.Folder: "path"}[info.Subject]
		if needs != "" && !has(needs) {
			t.Errorf("%s: its subject is a %s, and it has no argument %s", s.Name, info.Subject, needs)
		}
		for ours := range info.Arguments {
			if !has(ours) {
				t.Errorf("%s has no argument %s", s.Name, ours)
			}
		}
	}
	for _, info := range toolinfo.All() {
		if !described[info.Name] {
			t.Errorf("internal/core/toolinfo/%s.md describes no tool", info.Name)
		}
	}
}
