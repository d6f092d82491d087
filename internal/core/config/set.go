package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
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

// maxAttempts bounds the lines one value may take; a setting needs one.
const maxAttempts = 100

// replacements returns the ways to put a value in place of the key's, which is
// known to are in the given line or, if it takes several, to end there or
// begin there.
func replacements(text string, line int, key, value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		lines := strings.SplitAfter(text, "\n")
		for first := min(line, len(lines)-1); first >= max(0, line-maxAttempts); first-- {
			head, old, ok := strings.Cut(lines[first], "=")
			if !ok || strings.Trim(head, "\ufeff \t\"'") != key {
				continue
			}
			space := old[:len(old)-len(strings.TrimLeft(old, " \t"))]
			changed := strings.Join(lines[:first], "") + head + "=" + space + value + trailingRemark(old[len(space):])
			for next := first + 1; next <= min(len(lines), first+maxAttempts); next++ {
				if !yield(changed + strings.Join(lines[next:], "")) {
					return
				}
			}
		}
	}
}

// trailingRemark returns what follows the value in its line: spaces, a comment, the line's
// end.
func trailingRemark(old string) string {
	end := strings.IndexAny(old, "#\r\n") // of a number, a date, true or false
	if quote := strings.IndexAny(old, `"'`); quote == 0 {
		for end = 1; end < len(old) && old[end] != old[0]; end++ {
			if old[0] == '"' && old[end] == '\\' {
				end++
			}
		}
		end = min(end+1, len(old))
	}
	if end < 0 {
		return ""
	}
	rest := old[end:]
	if trimmed := strings.TrimLeft(rest, " \t"); strings.HasPrefix(trimmed, "#") || strings.Trim(trimmed, "\r\n") == "" {
		if quoteless := strings.TrimRight(old[:end], " \t"); quoteless != old[:end] {
			rest = old[len(quoteless):] // the spaces before the comment
		}
		return rest
	}
	return lineEnd(old) // the rest belongs to a value of several lines
}

// insertions returns the ways to add a line: at the end, else before a table,
// since what follows a table's head belongs to it.
func insertions(text, line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		end := lineEnd(text)
		if end == "" {
			end = "\n"
			if text != "" {
				line = "\n" + line
			}
		}
		if !yield(text + line + end) {
			return
		}
		lines := strings.SplitAfter(text, "\n")
		tried := 0
		for i, l := range lines {
			if !strings.HasPrefix(strings.TrimLeft(l, " \t"), "[") {
				continue
			}
			if tried++; tried > maxAttempts {
				return
			}
			before, after := strings.Join(lines[:i], ""), strings.Join(lines[i:], "")
			if !yield(before + strings.TrimPrefix(line, "\n") + end + after) {
				return
			}
		}
	}
}

// lineEnd returns how the last line ends: "\n", "\r\n" or not at all.
func lineEnd(text string) string {
	switch {
	case strings.HasSuffix(text, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(text, "\n"):
		return "\n"
	}
	return ""
}
