package recipe

import (
	"path"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/recipes"
)

// skeleton is the text that New starts from; it is no recipe by itself.
const skeleton = "skeleton"

// EmbeddedNames returns the names of the recipes that are built in.
func EmbeddedNames() []string {
	entries, err := recipes.Files.ReadDir(".")
	if err != nil {
		panic("recipe: " + err.Error()) // it is in the program
	}
	var out []string
	for _, e := range entries {
		if e.Name() != skeleton {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}

// LoadEmbedded returns the text of a recipe that is built in, comments included.
func LoadEmbedded(name string) ([]byte, error) {
	if !slices.Contains(EmbeddedNames(), name) {
		return nil, fault.New(fault.NotFound, "no recipe %.60q is built in", name).
			WithHint("%s; another one is given as the path of its file", suggestWord(name, EmbeddedNames()))
	}
	return builtInText(name)
}

func builtInText(name string) ([]byte, error) {
	return recipes.Files.ReadFile(path.Join(name, name+".yaml"))
}

// New is the text of a recipe to begin with, with comments: it changes a repository and opens
// a pull request.
func New(name string) ([]byte, error) {
	if !nameRule().MatchString(name) {
		return nil, fault.New(fault.InvalidName, "%.60q is not a name for a recipe", name).
			WithHint("begin with a small letter, then at most 39 small letters, digits and -")
	}
	if slices.Contains(EmbeddedNames(), name) {
		return nil, fault.New(fault.Conflict, "there is a recipe %s already", name).WithHint("`ramet run recipe %s` prints it; choose another name", name)
	}
	words, err := builtInText(skeleton)
	return []byte(strings.ReplaceAll(string(words), "NAME", name)), err
}
