package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
)

// rewrite returns the new text of each file that changes.
func rewrite(root, from, to string) (map[string][]byte, error) {
	changed := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == ".git" || name == "node_modules" || path == filepath.Join(root, "bin")) {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() || name != "go.mod" && filepath.Ext(name) != ".go" {
			return nil
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := inGo(old, from, to)
		if name == "go.mod" {
			if text, err = inMod(path, old, from, to); err != nil {
				return err
			}
		}
		if !bytes.Equal(text, old) {
			changed[path] = text
		}
		return nil
	})
	return changed, err
}

// inGo changes the strings of Go code that are paths of our packages, or hold some.
func inGo(text []byte, from, to string) []byte {
	ours := regexp.MustCompile(`(^|[^\w./-])` + regexp.QuoteMeta(from) + `/(internal|cmd|recipes|tools)\b`)
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, 0)
	var out bytes.Buffer
	done := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok != token.STRING {
			continue
		}
		begin := file.Offset(pos)
		out.Write(text[done:begin])
		// The quotes stand for the beginning.
		out.WriteString(ours.ReplaceAllString(lit, "${1}"+strings.ReplaceAll(to, "$", "$$")+"/${2}"))
		done = begin + len(lit)
	}
	out.Write(text[done:])
	return out.Bytes()
}

// inMod changes the module's own name and what it requires and replaces of ours.
func inMod(path string, text []byte, from, to string) ([]byte, error) {
	f, err := modfile.Parse(path, text, nil)
	if err != nil {
		return nil, err
	}
	renamed := func(old string) (string, bool) {
		rest, ok := strings.CutPrefix(old, from)
		return to + rest, ok && (rest == "" || rest[0] == '/')
	}
	if f.Module == nil {
		return nil, fmt.Errorf("%s names no module", path)
	}
	if name, ok := renamed(f.Module.Mod.Path); ok {
		if err := f.AddModuleStmt(name); err != nil {
			return nil, err
		}
	}
	for _, r := range f.Require {
		if name, ok := renamed(r.Mod.Path); ok {
			version := r.Mod.Version
			if err := f.DropRequire(r.Mod.Path); err != nil {
				return nil, err
			}
			f.AddNewRequire(name, version, false)
		}
	}
	for _, r := range f.Replace {
		if name, ok := renamed(r.Old.Path); ok {
			target := r.New
			if err := f.DropReplace(r.Old.Path, r.Old.Version); err != nil {
				return nil, err
			}
			if err := f.AddReplace(name, "", target.Path, target.Version); err != nil {
				return nil, err
			}
		}
	}
	f.Cleanup()
	return f.Format()
}
