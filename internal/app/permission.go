package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"ramet/internal/config"
	"ramet/internal/durable"
	"ramet/internal/permit"
	"ramet/internal/sandbox"
	"ramet/internal/sandbox/guard"
	"ramet/internal/step"
)

// policy is what the user permits in a workspace.
func policy(r request) (*permit.Policy, error) {
	if _, _, err := r.Unasked(); err != nil {
		return nil, err
	}
	return &permit.Policy{Acts: guard.Acts, Settings: r.Unasked, Rules: r.Allow, Confinable: sandbox.Available, Ask: r.Ask,
		Log: r.Store, Book: rulebook{r.Home, r.Place.Project}}, nil
}

// rulebook is the rules that the user saved for a project.
type rulebook struct{ home, project string }

func (b rulebook) Rules() ([]permit.Rule, error) {
	texts, err := config.ReadRules(b.home, b.project)
	if err != nil {
		return nil, err
	}
	out := make([]permit.Rule, 0, len(texts))
	for _, text := range texts {
		r, err := permit.Parse(text)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (b rulebook) Save(ctx context.Context, r permit.Rule) error {
	return config.SaveRule(ctx, b.home, b.project, r.String())
}

// tellOnce says something to the user of a home once, ever.
func tellOnce(home, what string, say func()) {
	mark := filepath.Join(home, "told", what)
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	say()
	if durable.MakeFolder(filepath.Dir(mark), 0o700) == nil {
		_ = step.WriteFile(mark, nil, 0o600) // else it is said again
	}
}

// self is the user of the operating system.
func self() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}
