package store

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Migrations returns the numbered files NNN_name.sql of a folder, in order. The
// number of the newest is the version of the schema.
func Migrations(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	out := make([]string, len(names))
	for i, name := range names {
		if want := fmt.Sprintf("migrations/%03d_", i+1); !strings.HasPrefix(name, want) {
			return nil, fmt.Errorf("migration %s: want a name that begins with %s", name, want)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		out[i] = string(text)
	}
	return out, nil
}
