package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/turn/tool"
)

// SkillName is the tool's.
const SkillName = "skill"

// mostBody limits how much of a skill is read at once.
const mostBody = 64 << 10

// NewSkill returns the tool for a turn of an agent, with the skills that there are and the limits that
// hold for it.
func NewSkill(skills []kit.Skill, limits ...history.Limit) tool.Tool {
	r := &reader{skills: skills}
	for _, l := range limits {
		r.limits = append(r.limits, parseAllowed(l.Tools))
	}
	return r
}

type reader struct {
	skills []kit.Skill
	limits []*allowed

	mu     sync.Mutex
	roles  []*allowed // of old histories; guarded by mu, as what follows
	active []*allowed
	now    []history.Limit // what active is made of
}

// memo holds the name of a role, for hooks, and its tools from the time before they were limits.
type memo struct {
	Role *role `json:"role,omitempty"`
}

type role struct {
	Name  string   `json:"name"`
	Tools []string `json:"tools"`
}

// Entry returns what an agent that is made for a role is told first.
func Entry(r kit.Role) (history.Draft, error) {
	d, err := history.Say(history.System, "You are the agent "+r.Name+", defined in "+r.Path+":\n\n"+r.Prompt)
	if err != nil {
		return d, err
	}
	d.Parts[0].Memo, err = json.Marshal(memo{Role: &role{Name: r.Name}})
	return d, err
}

func (r *reader) Spec() tool.Spec {
	return tool.Describe(SkillName, tool.Spec{
		Args: shape.Object(shape.Must("name", shape.Text(1).With("the name of the skill"))),
		Summary: func(args json.RawMessage) string {
			var a struct{ Name string }
			_ = json.Unmarshal(args, &a)
			return a.Name
		},
	})
}

func (r *reader) Run(_ context.Context, c tool.Call) (tool.Answer, error) {
	var args struct{ Name string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Failed("The arguments are wrong."), nil
	}
	i := slices.IndexFunc(r.skills, func(s kit.Skill) bool { return s.Name == args.Name })
	if i < 0 {
		var names []string
		for _, s := range r.skills {
			names = append(names, s.Name)
		}
		said := fmt.Sprintf("There is no skill %.60q.", args.Name)
		if near := text.NearestWord(args.Name, names); near != "" {
			said += fmt.Sprintf(" Did you mean %q?", near)
		}
		return tool.Failed(said + " The skills are: " + text.Line(strings.Join(names, ", "), 2000) + "."), nil
	}
	s := r.skills[i]
	body := s.Body
	if len(body) > mostBody {
		body = strings.ToValidUTF8(body[:mostBody], "") + fmt.Sprintf("\n[… %d bytes are left out here; read %s …]", len(body)-mostBody, s.Path)
	}
	said := fmt.Sprintf("Skill %s. Its files are in %s%s\n\n%s", s.Name, s.Dir, listSkillFiles(s.Dir), body)
	if s.Allowed != nil {
		left := parseAllowed(s.Allowed)
		r.mu.Lock()
		r.active = append(r.active, left)
		r.now = append(r.now, history.Limit{By: "skill " + s.Name, Tools: s.Allowed})
		r.mu.Unlock()
		said += "\n\n[until this turn ends you have only the tools that the skill allows: " + left.String() + "]"
	}
	return tool.Answer{Text: said, Show: "read the skill " + s.Name + " (" + s.Path + ")"}, nil
}

// listSkillFiles names what lies beside a skill.
func listSkillFiles(dir string) string {
	var names []string
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || len(names) > 40 {
			return fs.SkipAll
		}
		if rel, err := filepath.Rel(dir, at); err == nil && d.Type().IsRegular() && rel != "SKILL.md" {
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	if _, err := os.Stat(dir); err != nil || len(names) == 0 {
		return "."
	}
	return ": " + text.Line(strings.Join(names, ", "), 1000) + "."
}

// Recall implements tool.Memory: roles of old histories, each of which takes away, and what
// skills left ended with their turn.
func (r *reader) Recall(memos iter.Seq[json.RawMessage]) {
	var found []*allowed
	for raw := range memos {
		var m memo
		if json.Unmarshal(raw, &m) == nil && m.Role != nil && m.Role.Tools != nil {
			found = append(found, parseAllowed(m.Role.Tools))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.roles, r.active, r.now = found, nil, nil
}

// Limits implements tool.Limiter.
func (r *reader) Limits() []history.Limit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.now)
}

// Narrow implements tool.Narrower.
func (r *reader) Narrow(box tool.Box) tool.Box {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := slices.Concat(r.limits, r.roles, r.active)
	var out tool.Box
	for _, t := range box {
		if t == tool.Tool(r) && len(r.skills) == 0 {
			continue // it is here for the role alone
		}
		for _, a := range left {
			if t = a.leave(t); t == nil {
				break
			}
		}
		if t != nil {
			out = append(out, t)
		}
	}
	return out
}

// List tells a model what skills there are, in at most so many bytes; empty: there are none.
func List(skills []kit.Skill, most int) string {
	if len(skills) == 0 {
		return ""
	}
	const head = "Skills: what you can read with the tool `skill` when a task fits.\n"
	for _, width := range []int{1024, 300, 100, 0} {
		var b strings.Builder
		b.WriteString(head)
		for _, s := range skills {
			b.WriteString("- " + s.Name)
			if width > 0 {
				b.WriteString(": " + text.Line(s.Description, width))
			}
			b.WriteString("\n")
		}
		if b.Len() <= most || width == 0 {
			return clipLines(b.String(), most)
		}
	}
	return ""
}

// clipLines cuts a list at a line.
func clipLines(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := strings.LastIndexByte(s[:most], '\n')
	if cut < 0 {
		return ""
	}
	return s[:cut] + "\n- …"
}
