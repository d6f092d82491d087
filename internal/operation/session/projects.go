package session

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ramet/internal/operation/public"
)

// Projects lists the workspaces of ramet's home, the last used first, and changes none. One that
// cannot be read is left out: `ramet doctor` in its folder says why.
func (s *Session) Projects(ctx context.Context) (public.Projects, error) {
	out := public.Projects{Projects: []public.Project{}}
	home, err := s.HomeDir()
	if err != nil {
		return out, err
	}
	entries, _ := os.ReadDir(filepath.Join(home, "workspaces")) // none yet is no error
	for _, e := range entries {
		db := filepath.Join(home, "workspaces", e.Name(), "ramet.db")
		used := lastWritten(db, db+"-wal", filepath.Join(filepath.Dir(db), "screen.json"))
		if used.IsZero() {
			continue
		}
		if p, err := s.project(ctx, db); err == nil {
			p.Name, p.UsedAt = e.Name(), used.UTC()
			out.Projects = append(out.Projects, p)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
	}
	slices.SortStableFunc(out.Projects, func(a, b public.Project) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), cmp.Compare(a.Folder, b.Folder))
	})
	return out, nil
}

// lastWritten is when one of these files was last written.
func lastWritten(paths ...string) time.Time {
	var at time.Time
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// project reads what a workspace says of itself.
func (s *Session) project(ctx context.Context, db string) (public.Project, error) {
	seen, err := s.System.Look(ctx, db)
	if err != nil {
		return public.Project{}, err
	}
	info, err := os.Stat(seen.Folder)
	return public.Project{Folder: seen.Folder, Agents: seen.Agents, Asked: seen.Asked, Gone: err != nil || !info.IsDir()}, nil
}
