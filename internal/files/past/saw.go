package past

import (
	"context"

	"ramet/internal/chain"
	"ramet/internal/files"
	"ramet/internal/id"
)

// Saw keeps a file that a tool is about to overwrite, where it is not what the last state says:
// somebody changed it since, and that change is foreign to whoever overwrites it. What cannot
// be kept hinders nobody.
func (f *Folder) Saw(ctx context.Context, path string, content []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := chain.Sum(content)
	was, ok := f.index.Node(path)
	if !ok || was.Kind != files.File || was.Hash == h || int64(len(content)) > f.scanner.Largest() ||
		f.past.o.Secret != nil && f.past.o.Secret(content) {
		return nil
	}
	release, err := f.past.shared(ctx)
	if err != nil {
		return err
	}
	defer release()
	last, err := f.latest()
	if err != nil || last.N == 0 {
		return err
	}
	batch := f.past.store.Begin(f.scanner.Repository())
	defer batch.Drop()
	if err := batch.Add(h, content); err != nil {
		return err
	}
	was.Hash, was.Size = h, int64(len(content))
	root, err := files.Patch(f.past.store, last.Root, path, was, batch.AddFolder)
	if err != nil {
		return err
	}
	if _, err := batch.Commit(); err != nil {
		return err
	}
	_, err = f.note(root, f.past.store, func([]files.Change) func(string) id.Agent { return func(string) id.Agent { return "" } })
	return err
}
