package runner

import (
	"strconv"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/run/recipe"
)

// find looks for secrets for CheckSecrets.
func (g *BuiltinGates) find(text string) []FoundSecret {
	var out []FoundSecret
	for _, f := range g.redactor().Find(text) {
		out = append(out, FoundSecret{Name: f.Name, Line: f.Line, Sure: f.Sure})
	}
	return out
}

// allowedPaths are the patterns of paths that may be changed: what the gate says, else the
// parameter allowed_paths, else all that are safe.
func allowedPaths(gate recipe.Gate, site Site) []string {
	for _, list := range []string{gate.With["allow"], site.Params["allowed_paths"]} {
		if patterns := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' }); len(patterns) > 0 {
			return patterns
		}
	}
	return []string{"**"}
}

// gateLimit reads a limit that the gate has of its own.
func gateLimit(gate recipe.Gate, name string, into *int) error {
	text := gate.With[name]
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fault.New(fault.InvalidRecipe, "gate %s: %s is %.40q and must be a number", gate.Name, name, text).WithHint("write a number, 0 for no limit")
	}
	*into = n
	return nil
}
