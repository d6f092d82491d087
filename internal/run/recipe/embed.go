package recipe

import (
	_ "embed"

	"ramet/internal/fault"
)

//go:embed docs.yaml
var docsText []byte

// Embedded are the names of the recipes that are built in.
func Embedded() []string { return []string{"docs"} }

// Load is the text of a recipe that is built in, comments included.
func Load(name string) ([]byte, error) {
	if name == "docs" {
		return append([]byte(nil), docsText...), nil
	}
	return nil, fault.New(fault.NotFound, "no recipe %.60q is built in", name).
		WithHint("%s; another one is given as the path of its file", instead(name, Embedded()))
}
