package app

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ramet/internal/cli"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/sandbox"
)

// folder is where an agent works.
func (d *desk) folder(ctx context.Context, a id.Agent) (string, error) {
	found, err := d.ws.Agent(ctx, a)
	if err != nil {
		return "", err
	}
	t := tools{request: cli.KernelRequest{Place: d.request.Place}}
	return t.root(found)
}

// Shell runs a command of the user's: the user asked for it, so nobody asks. It dies
// with ramet all the same.
func (d *desk) Shell(ctx context.Context, a id.Agent, line string, output func(string)) error {
	dir, err := d.folder(ctx, a)
	if err != nil {
		return err
	}
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "sh"
	}
	p, err := sandbox.Start(ctx, sandbox.Command{Args: []string{shell, "-c", line}, Dir: dir, Env: os.Environ(), Output: lines(output)})
	if err != nil {
		return err
	}
	r, err := p.Wait()
	switch {
	case r.Killed:
		return fault.New(fault.Cancelled, "stopped")
	case err != nil:
		return err
	case r.ExitCode != 0:
		return fmt.Errorf("exit %d", r.ExitCode)
	}
	return nil
}

// lines hands output on.
type lines func(string)

func (l lines) Write(p []byte) (int, error) {
	l(string(p))
	return len(p), nil
}

// files remembers for a moment which files there are.
type files struct {
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
func (d *desk) Files(ctx context.Context, a id.Agent, fragment string) []string {
	dir, err := d.folder(ctx, a)
	if err != nil {
		return nil // whoever sends the prompt is told
	}
	f := &d.files
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
