package recipe

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/fault"
)

// Bind gives each parameter its value: the one that was set, else its default. An unknown
// one, or one that is required and not set, is USAGE.
func (r *Recipe) Bind(params map[string]string) (map[string]string, error) {
	var known, lacking []string
	values := map[string]string{}
	for _, p := range r.Parameters {
		known = append(known, p.Name)
		value, set := params[p.Name]
		if !set {
			value = p.Default
		}
		if p.Required && value == "" {
			lacking = append(lacking, p.Name)
		}
		values[p.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(known, name) {
			return nil, fault.New(fault.Usage, "recipe %s has no parameter %.60q", r.Name, name).WithHint("%s", suggestWord(name, known))
		}
		if value := params[name]; value != "" {
			if err := fault.CheckText(fault.Usage, "parameter "+name, value, 64<<10); err != nil {
				return nil, err
			}
		}
	}
	if len(lacking) > 0 {
		return nil, fault.New(fault.Usage, "recipe %s needs a value for %s", r.Name, strings.Join(lacking, ", ")).
			WithHint("give it with --set %s=…", lacking[0])
	}
	return values, r.checkAsked(values)
}

// Values adds to bound parameters what else names in braces can mean: {sections} and, once
// it is known, {base}, the commit that worktrees begin at.
func (r *Recipe) Values(bound map[string]string, base string) map[string]string {
	list := r.Sections
	if list == nil {
		list = []Section{}
	}
	sections, err := json.Marshal(list)
	if err != nil {
		panic("recipe: sections are texts: " + err.Error())
	}
	values := maps.Clone(bound)
	if values == nil {
		values = map[string]string{}
	}
	values["sections"], values["base"] = string(sections), base
	return values
}

// ItemScopes returns the scopes of a worker's items, in order. The sections are those that the
// run has, and readFile reads a file of the run. A worker for issues has none here: its scope is
// the id of the issue.
func ItemScopes(w Worker, sections []string, readFile func(path string) ([]byte, error)) ([]string, error) {
	switch {
	case w.Each.Once:
		return []string{"all"}, nil
	case w.Each.Sections:
		return checkScopes("the sections", sections)
	case w.Each.From != "":
		data, err := readFile(w.Each.From)
		if err != nil {
			return nil, err
		}
		var list []string
		if err := json.Unmarshal(data, &list); err != nil || list == nil {
			return nil, fault.New(fault.OutputInvalid, "%s is not JSON list of texts, and worker %s has an item for each of them", w.Each.From, w.Name).
				WithHint(`its worker must write ["a","b"]`)
		}
		return checkScopes(w.Each.From, list)
	}
	return slices.Clone(w.Each.List), nil
}

func checkScopes(what string, list []string) ([]string, error) {
	const hint = "a name has 1 to 80 letters, digits, dots, _ and -, and appears once"
	if len(list) > maxScopes {
		return nil, fault.New(fault.OutputInvalid, "%s has %d names", what, len(list)).WithHint("at most %d are allowed", maxScopes)
	}
	seen := make(map[string]bool, len(list))
	for _, name := range list {
		if !ValidScope(name) {
			return nil, fault.New(fault.OutputInvalid, "%s names %.100q", what, name).WithHint(hint)
		}
		if seen[name] {
			return nil, fault.New(fault.OutputInvalid, "%s names %s twice", what, name).WithHint(hint)
		}
		seen[name] = true
	}
	return slices.Clone(list), nil
}

// ExpandPath puts values into the names in braces of a path. A value may be a whole path, or a
// word in one; what comes out is as good a path as one in a recipe.
func ExpandPath(path, scope string, params map[string]string) (string, error) {
	const hint = "give the parameter another value"
	whole := braces().FindString(path) == path
	var odd string
	out, err := expandNames(path, scope, params, func(name, value string) {
		if !whole && (value == "" || strings.ContainsAny(value, "/")) || name == "scope" && !ValidScope(value) {
			odd = name
		}
	})
	if err != nil {
		return "", err
	}
	if odd != "" {
		return "", fault.New(fault.Usage, "in the path %.100q %s would be %.100q, which is not a name of a file", path, odd, valueOf(odd, scope, params)).WithHint(hint)
	}
	if why := badPath(out); why != "" {
		return "", fault.New(fault.Usage, "the path %.100q became %.100q, which %s", path, out, why).WithHint(hint)
	}
	if strings.HasSuffix(out, "/**") && !strings.HasSuffix(path, "/**") {
		return "", fault.New(fault.Usage, "the path %.100q became %.100q, which is not a file", path, out).WithHint(hint)
	}
	return out, nil
}

// ExpandText puts values into the names in braces of a key or a `with` value.
func ExpandText(s, scope string, params map[string]string) (string, error) {
	return expandNames(s, scope, params, func(string, string) {})
}

func valueOf(name, scope string, params map[string]string) string {
	if name == "scope" {
		return scope
	}
	return params[name]
}

func expandNames(s, scope string, params map[string]string, each func(name, value string)) (string, error) {
	var lacking string
	out := braces().ReplaceAllStringFunc(s, func(found string) string {
		name := found[1 : len(found)-1]
		if _, known := params[name]; !known && name != "scope" {
			lacking = name
			return found
		}
		value := valueOf(name, scope, params)
		each(name, value)
		return value
	})
	if lacking != "" {
		return "", fault.New(fault.Usage, "%.100q names {%s}, which has no value here", s, lacking).WithHint("give it with --set %s=…", lacking)
	}
	return out, nil
}

// CheckPaths makes sure that values lead no path of a worker astray.
func (r *Recipe) CheckPaths(values map[string]string) error {
	for _, w := range r.Workers {
		paths := slices.Concat(w.Inputs, w.Patches)
		for _, o := range w.Outputs {
			paths = append(paths, o.Path)
		}
		if w.Worktree != "" {
			paths = append(paths, w.Worktree)
		}
		for _, p := range paths {
			if _, err := ExpandPath(p, "scope", values); err != nil {
				return err
			}
		}
	}
	return nil
}
