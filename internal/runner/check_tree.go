package runner

import (
	"io/fs"
	"path"

	"ramet/internal/base/markdown"
)

// kind of the entry at a path.
type kind int

const (
	nothing kind = iota
	file
	folder
	link    // symbolic
	strange // a device, a pipe
)

// cache remembers the folders and pages of a site. Names are compared as they are written, also
// where the file system takes capital letters for small ones.
type cache struct {
	folders map[string]map[string]kind
	pages   map[string]*markdown.Page
}

func (s *CheckSite) remember() *cache {
	if s.cache == nil {
		s.cache = &cache{folders: map[string]map[string]kind{}, pages: map[string]*markdown.Page{}}
	}
	return s.cache
}

// entries are the names in a folder of the tree.
func (s *CheckSite) entries(dir string) map[string]kind {
	c := s.remember()
	if names, ok := c.folders[dir]; ok {
		return names
	}
	names := map[string]kind{}
	if list, err := fs.ReadDir(s.Tree, dir); err == nil {
		for _, e := range list {
			switch t := e.Type(); {
			case t.IsRegular():
				names[e.Name()] = file
			case t.IsDir():
				names[e.Name()] = folder
			case t&fs.ModeSymlink != 0:
				names[e.Name()] = link
			default:
				names[e.Name()] = strange
			}
		}
	}
	c.folders[dir] = names
	return names
}

// kind returns the kind of a path of the tree. Symbolic links are not followed, so that
// what lies below one is nothing.
func (s *CheckSite) kind(p string) kind {
	if p == "." {
		return folder
	}
	if !fs.ValidPath(p) {
		return nothing
	}
	dir, name := path.Split(p)
	dir = path.Clean(dir)
	if s.kind(dir) != folder {
		return nothing
	}
	return s.entries(dir)[name]
}

// page reads a page of the tree once; nil where it cannot be read.
func (s *CheckSite) page(p string) *markdown.Page {
	c := s.remember()
	if page, ok := c.pages[p]; ok {
		return page
	}
	var page *markdown.Page
	if s.kind(p) == file {
		if data, err := fs.ReadFile(s.Tree, p); err == nil {
			page, _ = markdown.Parse(data)
		}
	}
	c.pages[p] = page
	return page
}
