package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// Set writes one setting to the user's file at path and leaves the rest of it,
// comments and layout included, as it is. The file is made when it is not
// there (0600, its folder 0700); behind a symbolic link the target is changed.
// Concurrent calls follow each other; ctx bounds the wait. Nothing is written
// when the key or value is wrong or the file is no TOML.
func Set(ctx context.Context, path, key, value string) error {
	s, err := lookupSetting(key)
	if err != nil {
		return err
	}
	if err := s.check(value); err != nil {
		return err
	}
	return changeFile(ctx, path, func(path, text string) (string, error) { return editText(path, text, s.Key, value) })
}

// changeFile changes the user's file under its lock; behind a symbolic link the target. Its mode stays.
func changeFile(ctx context.Context, path string, edit func(path, text string) (string, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.StorageIO, "find configuration: %w", err)
	}
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.While(ctx, path, func() error {
		text, err := readText(path)
		if err != nil {
			return err
		}
		edited, err := edit(path, text)
		if err != nil || edited == text {
			return err
		}
		perm := fs.FileMode(0o600)
		if info, err := os.Stat(path); err == nil {
			perm = info.Mode().Perm()
		}
		return durable.WriteFile(path, []byte(edited), perm)
	})
}

// editText returns text with key set to value. TOML is not made to be edited by lines,
// so each attempt is read back: only one that sets the key and changes nothing
// else is taken.
func editText(path, text, key, value string) (string, error) {
	entries, err := parseEntries(path, text)
	if err != nil {
		return "", err
	}
	var before map[string]any
	if _, err := toml.Decode(text, &before); err != nil {
		return "", syntaxFault(path, err)
	}
	delete(before, key)
	rest := fmt.Sprintf("%#v", before) // unlike DeepEqual, NaN equals NaN here
	fits := func(attempt string) bool {
		var after map[string]any
		if _, err := toml.Decode(attempt, &after); err != nil || after[key] != value {
			return false
		}
		delete(after, key)
		return fmt.Sprintf("%#v", after) == rest
	}
	for _, e := range entries {
		if e.key == key {
			for attempt := range replacements(text, e.line-1, key, quoteTOML(value)) {
				if fits(attempt) {
					return attempt, nil
				}
			}
			return "", byHand(path, e.line, key)
		}
	}
	for attempt := range insertions(text, key+" = "+quoteTOML(value)) {
		if fits(attempt) {
			return attempt, nil
		}
	}
	return "", byHand(path, 1, key)
}

func byHand(path string, line int, key string) error {
	return fault.New(fault.InvalidConfig, "%s:%d: %s cannot be set without changing the lines around it", path, line, key).
		WithHint("edit the file by hand")
}

// quoteTOML returns a TOML string; check has kept control characters out.
func quoteTOML(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
