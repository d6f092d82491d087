package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/run/recipe"
)

func newCommand(l *Line) *cobra.Command {
	c := l.command("new NAME", "Write a recipe to begin with into NAME.yaml", `Write a recipe with comments into the file NAME.yaml: agents change a repository, gates look
at what they changed, and one pull request is opened. It can be carried out as it is. A file
that is there stays what it is (exit 4).`, 1, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		text, err := recipe.New(args[0])
		if err != nil {
			return nil, err
		}
		name := args[0] + ".yaml"
		f, err := os.OpenFile(filepath.Join(l.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return nil, fault.New(fault.Conflict, "%s is there already", name).WithHint("choose another name; nothing was changed")
		}
		if err != nil {
			return nil, durable.Failure("write", name, err)
		}
		_, err = f.Write(text)
		return newRecipe{args[0], name}, durable.Failure("write", name, errors.Join(err, f.Close()))
	})
	c.Example = `  ramet run new tidy
  ramet run start --recipe tidy.yaml --repo . --set task="Remove unused code"`
	return c
}

// newRecipe is the datum of run new.
type newRecipe struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func (d newRecipe) Text(w *printer.Writer) {
	w.Line("wrote %s; check it with `ramet run recipe %s`", d.Path, d.Path)
}
