package session

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/id"
)

// paths remembers for a moment which files there are.
type paths struct {
	mu   sync.Mutex
	dir  string
	at   time.Time
	list []string
}

const (
	maxFiles = 20_000
	filesFor = 5 * time.Second
)

// Files lists paths below the folder of an agent. Hidden ones, and what is usually
// made by tools, are left out.
func (w Prompts) CompletePaths(ctx context.Context, a id.Agent, fragment string) []string {
	dir, err := w.ws.folder(ctx, a)
	if err != nil {
		return nil // whoever sends the prompt is told
	}
	f := &w.ws.paths
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir == dir && time.Since(f.at) < filesFor {
		return f.list
	}
	var list []string
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return nil
		}
		name := e.Name()
		if strings.HasPrefix(name, ".") || e.IsDir() && (name == "node_modules" || name == "vendor") {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			rel = filepath.ToSlash(rel)
			if e.IsDir() {
				rel += "/"
			}
			list = append(list, rel)
		}
		if len(list) >= maxFiles || ctx.Err() != nil {
			return fs.SkipAll
		}
		return nil
	})
	f.dir, f.at, f.list = dir, time.Now(), list
	return list
}
