package docs

import (
	"io/fs"
	"path"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// system describes the documentation system of a repository.
type system struct {
	name  string
	dir   string // of its pages
	ext   string // .md or .rst
	notes []string
}

// findSystem finds the documentation system of a repository. Where the user names a folder, that
// is where pages go. links are the symbolic links of the repository: its trees here have plain
// files in their place.
func findSystem(tree fs.FS, links map[string]string, wanted string) (system, error) {
	s, found := knownSystem(tree)
	if !found {
		s = system{dir: "docs", ext: ".md"}
	}
	if wanted != "" && path.Clean(wanted) != s.dir {
		s = system{dir: path.Clean(wanted), ext: ".md"}
	}
	if !fs.ValidPath(s.dir) || strings.EqualFold(strings.Split(s.dir, "/")[0], ".git") {
		return s, fault.New(fault.Usage, "%.100q is not a folder of a repository's files", s.dir).WithHint("name one with --set docs_dir=docs")
	}
	var err error
	s.dir, err = resolveLinks(tree, links, s.dir, 0)
	return s, err
}

// resolveLinks follows symbolic links on the way to a folder, as long as they stay in the repository.
func resolveLinks(tree fs.FS, links map[string]string, dir string, depth int) (string, error) {
	at := "."
	parts := strings.Split(dir, "/")
	for i, part := range parts {
		at = path.Join(at, part)
		to, link := links[at]
		if !link {
			if info, err := fs.Lstat(tree, at); err != nil {
				return dir, nil // it is to be made
			} else if !info.IsDir() {
				return "", fault.New(fault.Conflict, "%s is a file, and pages cannot be put into it", at).WithHint("name another folder with --set docs_dir=NAME")
			}
			continue
		}
		target := path.Join(path.Dir(at), to)
		if path.IsAbs(to) || !fs.ValidPath(target) || depth > 8 {
			return "", fault.New(fault.Conflict, "%s is a symbolic link out of the repository (to %.200s): pages put there would be somewhere else", at, to).
				WithHint("name a folder of the repository with --set docs_dir=NAME")
		}
		return resolveLinks(tree, links, path.Join(append([]string{target}, parts[i+1:]...)...), depth+1)
	}
	return dir, nil
}

var (
	mkdocsDir = text.Regexp(`(?m)^docs_dir:\s*["']?([^"'#\s]+)`)
	bookSrc   = text.Regexp(`(?m)^src\s*=\s*"([^"]+)"`)
)

// knownSystem looks for the files that documentation systems are configured with.
func knownSystem(tree fs.FS) (system, bool) {
	read := func(name string) (string, bool) {
		data, err := fs.ReadFile(tree, name)
		return string(data), err == nil
	}
	for _, dir := range []string{"docs", "doc", "docs/source", "doc/source", "docs/src", "documentation"} {
		if conf, ok := read(dir + "/conf.py"); ok {
			s := system{name: "sphinx", dir: dir, ext: ".rst"}
			if strings.Contains(conf, "myst") || strings.Contains(conf, "recommonmark") {
				s.ext = ".md"
			}
			return s, true
		}
	}
	for _, name := range []string{"mkdocs.yml", "mkdocs.yaml", "docs/mkdocs.yml"} {
		if conf, ok := read(name); ok {
			dir := "docs"
			if m := mkdocsDir().FindStringSubmatch(conf); m != nil {
				dir = m[1]
			}
			return system{name: "mkdocs", dir: path.Join(path.Dir(name), dir), ext: ".md"}, true
		}
	}
	for _, root := range []string{".", "website", "docs", "site"} {
		for _, ext := range []string{"js", "ts", "mjs", "cjs"} {
			if _, ok := read(path.Join(root, "docusaurus.config."+ext)); ok {
				s := system{name: "docusaurus", dir: path.Join(root, "docs"), ext: ".md"}
				if _, err := fs.Stat(tree, s.dir); err != nil && isFolder(tree, "docs") {
					s.dir = "docs"
				}
				return s, true
			}
		}
	}
	for _, root := range []string{".", "docs", "book", "guide", "doc"} {
		if conf, ok := read(path.Join(root, "book.toml")); ok {
			src := "src"
			if m := bookSrc().FindStringSubmatch(conf); m != nil {
				src = m[1]
			}
			return system{name: "mdbook", dir: path.Join(root, src), ext: ".md", notes: []string{
				"mdBook shows only what its SUMMARY.md lists: add the new pages to it"}}, true
		}
	}
	for _, root := range []string{".", "docs", "site", "website"} {
		for _, name := range []string{"hugo.toml", "hugo.yaml", "hugo.json", "config.toml", "config.yaml"} {
			conf, ok := read(path.Join(root, name))
			if !ok || !strings.HasPrefix(name, "hugo") && !(strings.Contains(strings.ToLower(conf), "baseurl") && isFolder(tree, path.Join(root, "content"))) {
				continue
			}
			s := system{name: "hugo", dir: path.Join(root, "content"), ext: ".md"}
			if isFolder(tree, path.Join(s.dir, "docs")) {
				s.dir = path.Join(s.dir, "docs")
			}
			return s, true
		}
	}
	return system{}, false
}

func isFolder(tree fs.FS, name string) bool {
	info, err := fs.Stat(tree, name)
	return err == nil && info.IsDir()
}
