package recipe

import (
	"embed"
	"path"
	"slices"
	"strings"

	"ramet/internal/fault"
	"ramet/recipes"
)

//go:embed shipped/*.yaml
var shipped embed.FS

// skeleton is what New begins with; it is no recipe by itself.
const skeleton = "skeleton"

// Embedded are the names of the recipes that are built in.
func Embedded() []string {
	entries, err := shipped.ReadDir("shipped")
	if err != nil {
		panic("recipe: " + err.Error()) // it is in the program
	}
	var out []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".yaml"); name != skeleton {
			out = append(out, name)
		}
	}
	if entries, err = recipes.Files.ReadDir("."); err != nil {
		panic("recipe: " + err.Error())
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	slices.Sort(out)
	return out
}

// Load is the text of a recipe that is built in, comments included.
func Load(name string) ([]byte, error) {
	if !slices.Contains(Embedded(), name) {
		return nil, fault.New(fault.NotFound, "no recipe %.60q is built in", name).
			WithHint("%s; another one is given as the path of its file", instead(name, Embedded()))
	}
	if text, err := recipes.Files.ReadFile(path.Join(name, name+".yaml")); err == nil {
		return text, nil
	}
	return shipped.ReadFile(path.Join("shipped", name+".yaml"))
}

// New is the text of a recipe to begin with, with comments: it changes a repository and opens
// a pull request.
func New(name string) ([]byte, error) {
	if !nameRule().MatchString(name) {
		return nil, fault.New(fault.InvalidName, "%.60q is no name for a recipe", name).
			WithHint("begin with a small letter, then at most 39 small letters, digits and -")
	}
	if slices.Contains(Embedded(), name) {
		return nil, fault.New(fault.Conflict, "there is a recipe %s already", name).WithHint("`ramet run recipe %s` prints it; choose another name", name)
	}
	text, err := shipped.ReadFile(path.Join("shipped", skeleton+".yaml"))
	return []byte(strings.ReplaceAll(string(text), "NAME", name)), err
}
