package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"ramet/internal/base/durable"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/core/config"
	"ramet/internal/face/cli"
	"ramet/internal/launch/sandbox"
	"ramet/internal/turn/permit"
)

// policy returns what the user permits in a workspace. note tells people something about an agent.
func policy(r request, ask permit.Asker, note func(id.Agent, string)) *permit.Policy {
	return &permit.Policy{Acts: sandbox.ActsByName, Settings: r.Turns().Unasked, Rules: r.Allow, Confinable: sandbox.Available, Ask: ask,
		Log: r.Store, Book: rulebook{r.Home, r.Place.Project}, Warn: note,
		Boxed: func(a id.Agent, rule permit.Rule) {
			tellOnce(r.Home, "rules-are-confined", func() { note(a, cli.ConfinedRules(rule.String())) })
		}}
}

// rulebook is the rules that the user saved for a project.
type rulebook struct{ home, project string }

func (b rulebook) Rules() ([]permit.Rule, error) { return cli.ReadRules(b.home, b.project) }

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
