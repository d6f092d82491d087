package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// module is one that is linked into the program.
type module struct {
	Path    string
	Version string
	Sum     string
	Dir     string
	Main    bool
	Replace *module
}

// linked are the modules of which something is in the program of a platform, with the
// standard library, sorted by path.
func (r *Release) linked(platform string) ([]module, error) {
	text, err := r.goTool(platform, "list", "-deps", "-json=Module", r.main())
	if err != nil {
		return nil, err
	}
	found := map[string]module{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		if m := p.Module; m != nil && !m.Main {
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Path] = *m
		}
	}
	root, err := r.goTool(platform, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(bytes.TrimSpace(root), []byte("\n"))
	found["std"] = module{Path: "std", Version: string(lines[1]), Dir: string(lines[0])}
	var all []module
	for _, m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([-._].*)?$`)

// licences are the texts under which the module may be passed on. One without any is an
// error: we may not pass it on.
func (m module) licences() (Tree, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, fmt.Errorf("read the licence of %s: %w", m.Path, err)
	}
	var texts Tree
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, File{Path: docs + "licences/" + m.Path + "/" + e.Name(), Mode: 0o644, Data: text})
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s@%s has no licence text", m.Path, m.Version)
	}
	return texts, nil
}
