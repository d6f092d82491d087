package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// dist is where the page lies that is embedded into the program, with the licences of the
// libraries from npm that its build put into it.
const dist = "internal/face/web/dist"

// library is one of npm that is in the page.
type library struct{ Name, Version string }

// listed is a library in the list that opens the page's licences.
var listed = regexp.MustCompile(`(?m)^  (\S+) (\S+) \(.+\)$`)

// page tells the libraries in the page, and the text under which they may be passed on; none where
// the source has no page. A page without that text is an error: we may not pass it on.
func (r *Release) page() ([]library, Tree, error) {
	if _, err := os.Stat(filepath.Join(r.Source, dist)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	text, err := os.ReadFile(filepath.Join(r.Source, dist, "LICENSES.txt"))
	if err != nil {
		return nil, nil, fmt.Errorf("read the licences of the page's libraries: %w", err)
	}
	var all []library
	for _, m := range listed.FindAllSubmatch(text, -1) {
		all = append(all, library{string(m[1]), string(m[2])})
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("%s/LICENSES.txt names no library", dist)
	}
	return all, Tree{{Path: docs + "licences/page.txt", Mode: 0o644, Data: text}}, nil
}
