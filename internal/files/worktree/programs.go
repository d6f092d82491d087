package worktree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
	"ramet/internal/files/git"
)

// acts are the local settings with which a repository names programs of its own.
var acts = []string{"filter.*.clean", "filter.*.smudge", "filter.*.process", "merge.*.driver"}

// mostProgram limits how large a file may be that such a setting names.
const mostProgram = 4 << 20

// Programs returns the source of the programs that git would run because the configuration of
// the repository says so; a folder that is in none has none. What the user's own
// configuration names is the user's.
func Programs(ctx context.Context) trust.Source {
	return trust.Source{Kind: trust.GitProgram, Find: func(g *trust.Ground) ([]trust.Thing, error) {
		r, err := open(ctx, g.Dir())
		if fault.Is(err, fault.NotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return r.programs(ctx)
	}}
}

// programs finds them. The bytes that act are the command, and what the files of the
// repository hold that it names.
func (r repo) programs(ctx context.Context) ([]trust.Thing, error) {
	out, err := run(ctx, r.top, "config", "--list", "--show-scope", "-z")
	if err != nil {
		return nil, err
	}
	ground, err := trust.Open(r.top)
	if err != nil {
		return nil, err
	}
	defer ground.Close()
	found := map[string][]string{} // a key may be set more than once
	all := git.Fields(out)
	for i := 0; i+1 < len(all); i += 2 {
		key, value, _ := strings.Cut(all[i+1], "\n")
		if scope := all[i]; (scope == "local" || scope == "worktree") && program(key) {
			found[key] = append(found[key], value)
		}
	}
	var things []trust.Thing
	for key, values := range found {
		t := trust.Thing{Kind: trust.GitProgram, Path: key, Does: "git runs it when files are checked out, committed or merged"}
		for _, v := range values {
			t.Data = append(t.Data, v+"\n"...)
			more, err := named(ground, v)
			if err != nil {
				return nil, err
			}
			t.Data = append(t.Data, more...)
		}
		things = append(things, t)
	}
	slices.SortFunc(things, func(a, b trust.Thing) int { return strings.Compare(a.Path, b.Path) })
	return things, nil
}

// program reports whether a setting names a program.
func program(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc(acts, func(a string) bool {
		first, last, _ := strings.Cut(a, "*")
		return strings.HasPrefix(key, first) && strings.HasSuffix(key, last)
	})
}

// named returns a line for each file of the repository that a command names.
func named(ground *trust.Ground, command string) (string, error) {
	var b strings.Builder
	for _, word := range strings.Fields(command) {
		word = filepath.Clean(strings.Trim(word, `"';`))
		if !filepath.IsLocal(word) {
			continue
		}
		data, err := ground.Read(word, mostProgram)
		why := trust.Unfit("")
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.As(err, &why):
			fmt.Fprintf(&b, "%s: %s\n", word, why)
		case err != nil:
			return "", err
		default:
			fmt.Fprintf(&b, "%s: sha256 %x\n", word, sha256.Sum256(data))
		}
	}
	return b.String(), nil
}

// harmless refuses a repository whose own configuration would run programs that no person
// accepted.
func (r repo) harmless(ctx context.Context, accepts func(trust.Thing) (bool, error)) error {
	things, err := r.programs(ctx)
	if err != nil {
		return err
	}
	var found []string
	for _, t := range things {
		ok := false
		if accepts != nil {
			if ok, err = accepts(t); err != nil {
				return err
			}
		}
		if !ok {
			found = append(found, t.Path)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fault.New(fault.Untrusted, "the configuration of %s names programs that git would run: %s", r.top, strings.Join(found, ", ")).
		WithHint("look at them; `ramet trust` lets them act")
}
