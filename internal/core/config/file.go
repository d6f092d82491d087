package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/BurntSushi/toml"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// maxFile bounds what is read: a configuration is small, and a project's file
// comes from a stranger.
const maxFile = 1 << 20

// entry is one key of a file.
type entry struct {
	key    string
	text   string
	isText bool // whether the value is a string
	isList bool // whether it is an array of strings; text then has ; between them
	line   int
}

func (e entry) where(path string) string { return fmt.Sprintf("%s:%d", path, e.line) }

// check returns the setting the entry is for, if its value is allowed.
func (e entry) check(path string) (Setting, error) {
	s, err := lookupSetting(e.key)
	if err != nil {
		return s, atPlace(e.where(path), err)
	}
	if !e.isText && !(s.List && e.isList) {
		return s, fault.New(fault.InvalidConfig, "%s: %s is not a string", e.where(path), e.key).
			WithHint("write it in quotes: %s = \"…\"", e.key)
	}
	if err := s.check(e.text); err != nil {
		return s, atPlace(e.where(path), err)
	}
	return s, nil
}

// readText returns a file, empty if it is missing.
func readText(path string) (string, error) {
	text, err := durable.ReadPlain(path, maxFile, nil)
	if isMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", fault.New(fault.InvalidConfig, "read configuration: %w", err)
	}
	return string(text), nil
}

// isMissing reports whether there is no file, or no folder for it.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func parseEntries(path, text string) ([]entry, error) {
	var values map[string]toml.Primitive
	meta, err := toml.Decode(text, &values)
	if err != nil {
		return nil, syntaxFault(path, err)
	}
	var entries []entry
	for _, key := range meta.Keys() {
		value, first := values[key[0]]
		if !first {
			continue // of a table that was seen already
		}
		delete(values, key[0])
		if several := dottedEntries(&meta, key[0], value); several != nil {
			entries = append(entries, several...)
			continue
		}
		e := entry{key: key[0], line: lineOf(&meta, value)}
		e.isText = meta.PrimitiveDecode(value, &e.text) == nil
		if !e.isText {
			var items []string
			// What holds a ; itself would fall apart.
			if meta.PrimitiveDecode(value, &items) == nil && !strings.Contains(strings.Join(items, ""), ";") {
				e.text, e.isList = strings.Join(items, "; "), true
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func syntaxFault(path string, err error) error {
	const hint = "correct the line; the format is TOML"
	if p, ok := errors.AsType[toml.ParseError](err); ok {
		message := strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return '?' // it quotes the file, and a file may hold escape codes
		}, p.Message)
		if p.Position.Line > 0 { // else the parser does not know: a carriage return in a string
			path = fmt.Sprintf("%s:%d", path, p.Position.Line)
		}
		return fault.New(fault.InvalidConfig, "%s: %s", path, message).WithHint(hint)
	}
	return fault.New(fault.InvalidConfig, "%s: %q", path, err).WithHint(hint)
}

// locate is a value that refuses to be decoded: the refusal is the one way to
// learn a key's line from the toml package.
type locate struct{}

func (*locate) UnmarshalTOML(any) error { return errors.New("here") }

// lineOf returns the line of a value; a table that is only implied by "a.b"
// stands where its first part does.
func lineOf(meta *toml.MetaData, value toml.Primitive) int {
	p, ok := errors.AsType[toml.ParseError](meta.PrimitiveDecode(value, &locate{}))
	if ok && p.Position.Line > 0 {
		return p.Position.Line
	}
	line := 0
	var parts map[string]toml.Primitive
	if meta.PrimitiveDecode(value, &parts) != nil {
		return 1
	}
	for _, part := range parts {
		if l := lineOf(meta, part); line == 0 || l < line {
			line = l
		}
	}
	return max(line, 1)
}

// Settings of two words can be said as a table, as many programs have them: files.shared = true
// is files_shared = "yes".

// dottedEntries returns the entries of such a table; none: it is another one, or no table.
func dottedEntries(meta *toml.MetaData, table string, value toml.Primitive) []entry {
	var parts map[string]toml.Primitive
	if meta.PrimitiveDecode(value, &parts) != nil {
		return nil
	}
	var out []entry
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		key := table + "_" + name
		if _, err := lookupSetting(key); err != nil {
			return nil
		}
		e := entry{key: key, line: lineOf(meta, parts[name])}
		var on bool
		if e.isText = meta.PrimitiveDecode(parts[name], &e.text) == nil; !e.isText && meta.PrimitiveDecode(parts[name], &on) == nil {
			e.isText, e.text = true, map[bool]string{true: "yes", false: "no"}[on]
		}
		out = append(out, e)
	}
	return out
}
