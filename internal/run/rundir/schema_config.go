package rundir

import (
	"sync"

	"ramet/internal/base/shape"
)

// runConfig is the part of a run's configuration that every recipe understands.
var runConfig = sync.OnceValue(func() *shape.Shape {
	return shape.Open(
		shape.May("recipe", name.With("The name of a recipe, or the path of its file.")),
		shape.May("inputs", shape.List(shape.Open(
			shape.Must("name", name),
			shape.Must("url", name),
			shape.May("commit", name.With("Pins the input; without it, the newest commit when the run begins."))))),
		shape.May("limits", shape.Map(shape.Number(0, 1<<53-1)).With("Budgets by name.")),
		shape.May("set", shape.Map(schemaText).With("Values for the recipe.")),
	)
})
