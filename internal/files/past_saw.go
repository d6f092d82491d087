package files

import (
	"context"
	"path/filepath"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
)

// Saw takes a state of the folder before a tool of an agent overwrites a file, where the file is
// neither what the last state says nor what a tool of that agent wrote: the state keeps what the
// tool replaces, and notes whose it was. The tool continues if no state can be taken.
func (f *PastFolder) Saw(ctx context.Context, a id.Agent, path string, content []byte) error {
	h := chain.Sum(content)
	f.mu.Lock()
	was, ok := f.index.Node(path)
	f.mu.Unlock()
	if ok && was.Kind == File && was.Hash == h {
		return nil
	}
	if _, err := f.past.calls.read(); err != nil || f.past.calls.author(filepath.Join(f.root, path), h) == a {
		return err
	}
	_, err := f.Take(ctx, nil)
	return err
}
