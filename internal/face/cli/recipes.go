package cli

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/run/recipe"
)

func recipesCommand(l *Line) *cobra.Command {
	return l.command("recipes", "List the recipes that are built in", "", 0, 0, func(context.Context, []string) (printer.Datum, error) {
		out := recipes{Recipes: []recipeRow{}}
		for _, name := range recipe.EmbeddedNames() {
			source, err := recipe.LoadEmbedded(name)
			if err != nil {
				return nil, err
			}
			r, err := recipe.Parse(source)
			if err != nil {
				return nil, err
			}
			row := recipeRow{Name: r.Name, Description: r.Description, Parameters: []recipeParameter{}}
			for _, p := range r.Parameters {
				row.Parameters = append(row.Parameters, recipeParameter{p.Name, p.Default, p.Required, p.Help})
			}
			out.Recipes = append(out.Recipes, row)
		}
		return out, nil
	})
}

// recipes is the datum of run recipes.
type recipes struct {
	Recipes []recipeRow `json:"recipes"`
}

type recipeRow struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Parameters  []recipeParameter `json:"parameters"`
}

type recipeParameter struct {
	Name     string `json:"name"`
	Default  string `json:"default"`
	Required bool   `json:"required"`
	Help     string `json:"help"`
}

func (l recipes) Text(w *printer.Writer) {
	for _, r := range l.Recipes {
		w.Line("%v  %s", w.Bold(r.Name), r.Description)
		var rows [][]string
		for _, p := range r.Parameters {
			given := "default " + p.Default
			switch {
			case p.Required:
				given = "required"
			case p.Default == "":
				given = "optional"
			}
			rows = append(rows, []string{"  --set " + p.Name, given, p.Help})
		}
		w.Table(rows)
	}
}

func recipeCommand(l *Line) *cobra.Command {
	c := l.command("recipe NAME|FILE", "Check a recipe and print it", `Print a recipe as YAML, to be read or to be the beginning of your own; it is checked
first, and everything that is wrong with it is told with its line.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		source, err := loadRecipe(args[0])
		if err != nil {
			return nil, err
		}
		r, err := recipe.Parse(source)
		if err != nil {
			return nil, err
		}
		defaults := map[string]string{}
		for _, p := range r.Parameters {
			defaults[p.Name] = p.Default
		}
		return recipeText{args[0], string(source)}, knownDrivers(ctx, l, r.Driven(defaults, ""), false)
	})
	c.ValidArgsFunction = cobra.FixedCompletions(recipe.EmbeddedNames(), cobra.ShellCompDirectiveDefault)
	return c
}

// recipeText is the datum of run recipe.
type recipeText struct {
	Name string `json:"name"`
	YAML string `json:"yaml"`
}

func (d recipeText) Text(w *printer.Writer) { w.Block("", d.YAML) }

// loadRecipe finds a recipe by its name, or reads a file.
func loadRecipe(name string) ([]byte, error) {
	if slices.Contains(recipe.EmbeddedNames(), name) {
		return recipe.LoadEmbedded(name)
	}
	source, err := readRecipe(name)
	if err != nil {
		return nil, fault.New(fault.NotFound, "no recipe %.200q: %w", name, err).
			WithHint("%s", text.NearestHint(name, recipe.EmbeddedNames(), "recipes: "+strings.Join(recipe.EmbeddedNames(), ", ")+"; or give the path of a file"))
	}
	return source, nil
}

// readRecipe reads no more than shows that it is too long: a device has no end.
func readRecipe(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, recipe.MaxSize+1))
}
