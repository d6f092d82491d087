// Package recipes holds the texts of recipes that have a folder of their own: recipes/NAME/NAME.yaml.
// What they know beyond the language of recipes is in programs beside them, which their commands
// call as anybody's would.
package recipes

import "embed"

// Files are the recipes, as NAME/NAME.yaml.
//
//go:embed */*.yaml
var Files embed.FS
