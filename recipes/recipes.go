// Package recipes holds the texts of all recipes that are built in, each in a folder of its own:
// recipes/NAME/NAME.yaml; skeleton is what a new one begins with.
// What they know beyond the language of recipes is in programs beside them, which their commands
// call as anybody's would.
package recipes

import "embed"

// Files are the recipes, as NAME/NAME.yaml.
//
//go:embed */*.yaml
var Files embed.FS
