package trust

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
)

// Most bytes of things.
const (
	mostConfiguration = 1 << 20
	mostInstructions  = 1 << 20
)

// ConfigurationFile is the project's own configuration, by its place in it.
const ConfigurationFile = ".ramet/config.toml"

// Standard returns the sources of every project.
func Standard() []Source {
	return []Source{
		Files(Configuration, "changes settings of ramet in this project", mostConfiguration, ConfigurationFile),
		instructionsSource(),
		Files(Servers, "names programs and services whose tools agents may ask for; programs start with the network, and write caches and the folders named", mostConfiguration, ".mcp.json"),
		obeyedSource(),
	}
}

// Files returns the source of files at given places.
func Files(kind Kind, does string, most int64, paths ...string) Source {
	return Source{kind, func(g *Ground) ([]Thing, error) {
		var out []Thing
		for _, p := range paths {
			t, ok, err := g.thing(p, does, most)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, t)
			}
		}
		return out, nil
	}}
}

// Below returns the source of all files below a folder: each of them acts, also one that is
// added later. There may be at most so many.
func Below(kind Kind, does string, most int64, count int, folder string) Source {
	return Source{kind, func(g *Ground) ([]Thing, error) {
		var out []Thing
		err := fs.WalkDir(g.root.FS(), path.Clean(folder), func(name string, d fs.DirEntry, err error) error {
			switch {
			case isMissing(err):
				return nil
			case Escapes(err):
				out = append(out, Thing{Path: name, Does: does, Refused: leadsOut})
				return nil
			case err != nil:
				return err
			case d.IsDir():
				return nil
			case len(out) == count:
				return Unfit("it contains too many files")
			}
			t, _, err := g.thing(name, does, most)
			out = append(out, t)
			return err
		})
		if why := Unfit(""); errors.As(err, &why) {
			return []Thing{{Path: folder, Does: does, Refused: string(why)}}, nil
		}
		return out, err
	}}
}

// thing reads a file; ok is false if it is not there.
func (g *Ground) thing(p, does string, most int64) (t Thing, ok bool, err error) {
	t = Thing{Path: p, Does: does}
	info, err := g.root.Lstat(filepath.FromSlash(p))
	switch {
	case Escapes(err):
		t.Refused = reachedOver
		return t, true, nil
	case isMissing(err):
		return t, false, nil
	}
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		t.Link, _ = g.root.Readlink(filepath.FromSlash(p)) // only to be shown
	}
	t.Data, err = g.Read(p, most)
	why := Unfit("")
	switch {
	case errors.As(err, &why):
		t.Refused = string(why)
	case errors.Is(err, fs.ErrNotExist):
		t.Refused = "it is a link to nothing"
	case err != nil:
		return t, false, err
	}
	return t, true, nil
}
