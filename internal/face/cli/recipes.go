package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
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
			out.Recipes = append(out.Recipes, recipeRow{r.Name, r.Description, append([]recipe.Parameter{}, r.Parameters...)})
		}
		return out, nil
	})
}

type recipes struct {
	Recipes []recipeRow `json:"recipes"`
}

type recipeRow struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Parameters  []recipe.Parameter `json:"parameters"`
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
	c := l.command("recipe NAME|FILE", "Check a recipe and print it", `Check a recipe and print it as YAML, to read it or to start your own from it. Every error is
reported with its line.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
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
		return printer.Result{JSON: map[string]string{"name": args[0], "yaml": string(source)}, Write: func(w *printer.Writer) { w.Block("", string(source)) }},
			knownDrivers(ctx, l, r.Driven(defaults, ""), false)
	})
	c.ValidArgsFunction = cobra.FixedCompletions(recipe.EmbeddedNames(), cobra.ShellCompDirectiveDefault)
	return c
}

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

func newCommand(l *Line) *cobra.Command {
	c := l.command("new NAME", "Write a recipe to begin with into NAME.yaml", `Write a commented recipe to NAME.yaml: agents change a repository, gates check the changes,
and one pull request is opened. The recipe works as it is. An existing file is not overwritten
(exit 4).`, 1, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		text, err := recipe.New(args[0])
		if err != nil {
			return nil, err
		}
		name := args[0] + ".yaml"
		f, err := os.OpenFile(filepath.Join(l.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return nil, fault.New(fault.Conflict, "%s already exists", name).WithHint("choose another name; nothing was changed")
		}
		if err != nil {
			return nil, durable.Failure("write", name, err)
		}
		_, err = f.Write(text)
		return printer.Result{JSON: map[string]string{"name": args[0], "path": name}, Write: func(w *printer.Writer) {
			w.Line("wrote %s; check it with `ramet run recipe %s`", name, name)
		}}, durable.Failure("write", name, errors.Join(err, f.Close()))
	})
	c.Example = `  ramet run new tidy
  ramet run start --recipe tidy.yaml --repo . --set task="Remove unused code"`
	return c
}

// ReadStartedRecipe reads the recipe that a run began with. One of an earlier version may use built-ins that are
// others now: what exactly does not fit is told, and what to do; the run stays as it is. One that
// does not hold the agents as which its workers are made is refused: what this host calls by these
// names may be something else.
func ReadStartedRecipe(runID string, config rundir.Config) (*recipe.Recipe, error) {
	r, err := recipe.Parse([]byte(config.Text))
	if err == nil {
		if lost := r.Undefined(); len(lost) > 0 {
			return nil, fault.New(fault.InvalidRecipe, "the recipe of run %s does not hold agent %.60q, as which a worker is made", runID, lost[0]).
				WithHint("nothing was changed: start again where that agent is defined")
		}
		return r, nil
	}
	again := "ramet run start --recipe " + text.Line(config.Recipe, 60)
	if repo := config.Set["repo"]; repo != "" {
		again += " --repo " + text.Line(repo, 200)
	}
	return nil, fault.New(fault.InvalidRecipe, "run %s was begun by another version of ramet, with a recipe %s that this one does not carry out: %w", runID, text.Line(config.Recipe, 60), err).
		WithHint("nothing was changed: continue with the version that started it, or start again with `%s`; its results stay in its folder", again)
}
