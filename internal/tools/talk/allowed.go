package talk

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"ramet/internal/core/toolinfo"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// allowed are tools by their names, some of them only for what rules fit.
type allowed struct {
	given []string
	names map[string]bool
	rules map[string][]permit.Rule // of tools that are in names
	all   bool
}

// parseAllowed reads a list of tools. An unknown name allows nothing.
func parseAllowed(list []string) *allowed {
	a := &allowed{given: list, names: map[string]bool{}, rules: map[string][]permit.Rule{}}
	whole := map[string]bool{}
	for _, one := range list {
		name, pattern, patterned := strings.Cut(one, "(")
		if one == "*" {
			a.all = true
		}
		name = ownName(name)
		if !patterned || strings.Trim(pattern, "*)") == "" {
			a.names[name], whole[name] = true, true
			continue
		}
		pattern = strings.TrimSuffix(pattern, ")")
		if head, ok := strings.CutSuffix(pattern, ":*"); ok {
			pattern = head + " *"
		}
		if r, err := permit.Parse(name + "(" + pattern + ")"); err == nil {
			a.names[name] = true
			a.rules[name] = append(a.rules[name], r)
		}
	}
	for name := range whole {
		delete(a.rules, name)
	}
	return a
}

// ownName returns a tool's name here.
func ownName(name string) string {
	name = strings.TrimSpace(name)
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		return rest
	}
	if known := toolinfo.FindForeign(name); known != nil {
		return known.Name
	}
	return name
}

// isRemovable reports whether a list can take a tool away.
func isRemovable(name string) bool {
	info := toolinfo.Find(name)
	return info == nil || info.Removable
}

func (a *allowed) String() string {
	if len(a.given) == 0 {
		return "none"
	}
	return strings.Join(a.given, ", ")
}

// leave returns what is left of a tool; nil: nothing.
func (a *allowed) leave(t tool.Tool) tool.Tool {
	name := tool.NameOf(t)
	server, _, isServers := strings.Cut(name, "__")
	switch {
	case a.all || !isRemovable(name):
		return t
	case isServers && a.names[server]: // all of one server
		return t
	case !a.names[name]:
		return nil
	case len(a.rules[name]) == 0:
		return tool.Tell(t)
	}
	return limited{t, a.rules[name]}
}

// limited is a tool for what rules fit.
type limited struct {
	tool.Tool
	rules []permit.Rule
}

func (l limited) permits(args json.RawMessage) bool {
	s := l.Spec()
	return s.Subject != nil && permit.Permits(l.rules, s.Name, s.Subject(args))
}

func (l limited) Run(ctx context.Context, c tool.Call) (tool.Answer, error) {
	if !l.permits(c.Args) {
		var said []string
		for _, r := range l.rules {
			said = append(said, r.String())
		}
		return tool.Failed("Nothing was done: what you follow allows only " + strings.Join(said, ", ") + "."), nil
	}
	return l.Tool.Run(ctx, c)
}

// Allows reports whether a list leaves this call of a tool.
func Allows(list []string, spec tool.Spec, args json.RawMessage) bool {
	switch left := parseAllowed(list).leave(specified{spec}).(type) {
	case nil:
		return false
	case limited:
		return left.permits(args)
	}
	return true
}

// specified is a tool of which nothing but its specification is known.
type specified struct{ spec tool.Spec }

func (s specified) Spec() tool.Spec { return s.spec }

func (specified) Run(context.Context, tool.Call) (tool.Answer, error) {
	return tool.Failed("Nothing was done."), nil
}

// Words returns a list of tools in our own words, with what some are limited to; nil: all.
func Words(list []string) []string {
	if list == nil || slices.Contains(list, "*") {
		return nil
	}
	a := parseAllowed(list)
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(a.names)) {
		if len(a.rules[name]) == 0 {
			out = append(out, name)
		}
		for _, r := range a.rules[name] {
			out = append(out, r.String())
		}
	}
	return out
}
