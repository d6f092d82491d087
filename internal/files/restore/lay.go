package restore

import (
	"errors"
	"io/fs"
	"path"

	"ramet/internal/durable"
	"ramet/internal/files"
	"ramet/internal/files/trash"
	"ramet/internal/step"
)

// Want is a path as it shall be; nil: nothing there.
type Want struct {
	Path string
	Node *files.Node
}

// Lay makes a plan of what is wanted, whatever stands there now: for a folder that nobody
// uses yet.
func Lay(root string, wants []Want) (Plan, error) {
	p := Plan{Root: root}
	dir, err := step.OpenRoot(root)
	if err != nil {
		return p, durable.Failure("open", root, err)
	}
	defer dir.Close()
	w := &work{root: dir}
	for _, want := range wants {
		now, err := w.at(want.Path)
		if err != nil {
			return p, durable.Failure("look at", want.Path, err)
		}
		if !same(now, want.Node) {
			p.Steps = append(p.Steps, Step{Path: want.Path, Before: now, After: want.Node})
		}
	}
	return p, nil
}

// at is what stands at a path; nil: nothing.
func (w *work) at(p string) (*files.Node, error) {
	dir, close, err := w.enter(path.Dir(p))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, trash.ErrNoFolder) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer close()
	return look(dir, path.Base(p))
}
