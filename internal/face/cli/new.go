package cli

import (
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
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Write a recipe to begin with into NAME.yaml",
		Long: `Write a recipe with comments into the file NAME.yaml: agents change a repository, gates look
at what they changed, and one pull request is opened. It can be carried out as it is. A file
that is there stays what it is (exit 4).`,
		Example: `  ramet run new tidy
  ramet run start --recipe tidy.yaml --repo . --set task="Remove unused code"`,
		Args: CheckArguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := recipe.New(args[0])
			if err != nil {
				return err
			}
			name := args[0] + ".yaml"
			f, err := os.OpenFile(filepath.Join(l.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return fault.New(fault.Conflict, "%s is there already", name).WithHint("choose another name; nothing was changed")
			}
			if err != nil {
				return durable.Failure("write", name, err)
			}
			_, err = f.Write(text)
			if err := errors.Join(err, f.Close()); err != nil {
				return durable.Failure("write", name, err)
			}
			return l.Print(newRecipe{args[0], name})
		},
	}
}

// newRecipe is the datum of run new.
type newRecipe struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func (d newRecipe) Text(w *printer.Writer) {
	w.Line("wrote %s; check it with `ramet run recipe %s`", d.Path, d.Path)
}
