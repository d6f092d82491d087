package files

import (
	"errors"
	"io/fs"
	"path"

	"ramet/internal/base/durable"
	"ramet/internal/base/step"
)

// RestoreWant is a path as it shall be; nil: nothing there.
type RestoreWant struct {
	Path string
	Node *Node
}

// LayFiles makes a plan of what is wanted, whatever stands there now: for a folder that nothing
// uses yet.
func LayFiles(root string, wants []RestoreWant) (RestorePlan, error) {
	p := RestorePlan{Root: root}
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
			p.Steps = append(p.Steps, RestoreStep{Path: want.Path, Before: now, After: want.Node})
		}
	}
	return p, nil
}

// at returns what stands at a path; nil: nothing.
func (w *work) at(p string) (*Node, error) {
	dir, close, err := w.enter(path.Dir(p))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoFolder) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer close()
	return look(dir, path.Base(p))
}
