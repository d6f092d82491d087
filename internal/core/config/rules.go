package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// Rules of a project are what its user saved when asked. They are in the user's home,
// one a line, so that nothing that lies in a project permits anything:
//
//	<home>/rules/<name of the folder>-<hash of its real path>

// RulesFile returns where the rules of a project stand.
func RulesFile(home, project string) (string, error) {
	real, err := durable.RealFolder(project)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(real))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, filepath.Base(real))
	return filepath.Join(home, "rules", name[:min(len(name), 40)]+"-"+hex.EncodeToString(sum[:8])), nil
}

// ReadRules reads the rules of a project, as they were saved; a file that others can
// write is refused.
func ReadRules(home, project string) ([]string, error) {
	path, err := RulesFile(home, project)
	if err != nil {
		return nil, err
	}
	text, err := durable.ReadPlain(path, maxFile, func(info fs.FileInfo) error {
		if info.Mode().Perm()&0o022 != 0 {
			return fault.New(fault.InvalidConfig, "others can write %s (mode %04o)", path, info.Mode().Perm()).WithHint("check it, then chmod 600 %s", path)
		}
		return nil
	})
	switch f, ours := fault.Of(err); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case ours:
		return nil, fault.New(f.Code, "read rules: %w", f).WithHint("%s", f.Hint)
	case err != nil:
		return nil, fault.New(fault.StorageIO, "read rules: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out, nil
}

// SaveRule adds a rule to those of a project, durably.
func SaveRule(ctx context.Context, home, project, rule string) error {
	return changeRules(ctx, home, project, func(rules []string) ([]string, error) {
		if slices.Contains(rules, rule) {
			return rules, nil
		}
		return append(rules, rule), nil
	})
}

// DropRule takes a rule of a project back. NOT_FOUND: there is none.
func DropRule(ctx context.Context, home, project, rule string) error {
	return changeRules(ctx, home, project, func(rules []string) ([]string, error) {
		i := slices.Index(rules, rule)
		if i < 0 {
			return nil, fault.New(fault.NotFound, "no rule %.80q was saved for this project", rule).
				WithHint("`ramet rules` lists them")
		}
		return slices.Delete(rules, i, i+1), nil
	})
}

func changeRules(ctx context.Context, home, project string, change func([]string) ([]string, error)) error {
	path, err := RulesFile(home, project)
	if err != nil {
		return err
	}
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	real, err := durable.RealFolder(project)
	if err != nil {
		return err
	}
	return durable.While(ctx, path, func() error {
		rules, err := ReadRules(home, project)
		if err != nil {
			return err
		}
		if rules, err = change(rules); err != nil {
			return err
		}
		head := "# what tools may do unasked in " + strings.Join(strings.Fields(real), " ") + "\n"
		return durable.WriteFile(path, []byte(head+strings.Join(append(rules, ""), "\n")), 0o600)
	})
}
