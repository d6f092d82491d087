package rundir

import "ramet/internal/run/recipe"

// The shape of recipes is made when it is asked for: few commands do.
func recipeSchema() map[string]any { return recipe.Shape().Schema() }

func checkRecipe(doc []byte) error { return recipe.Shape().Check(doc) }
