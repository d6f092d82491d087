package facts

import (
	"path"
	"strings"

	"ramet/internal/docs"
)

// exampleFiles claims short programs in folders of examples, whole.
func (t *tree) exampleFiles(projects []*project) []*claim {
	var paths []string
	for _, f := range t.inv.Files {
		if f.Role == "source" && inExamples(f.Path) && f.Size > 0 && f.Size <= signatureLimit && knownLanguage(f.Language) {
			paths = append(paths, f.Path)
		}
	}
	return each(paths, func(name string) *claim {
		s := t.read(name)
		if s == nil || strings.TrimSpace(s.text()) == "" {
			return nil
		}
		language := t.files[name].Language
		title := name
		for part, rest := "", name; rest != ""; {
			part, rest, _ = strings.Cut(rest, "/")
			if inDir(part+"/", exampleDirs) && rest != "" {
				title = rest
				break
			}
		}
		c := newClaim(language, docs.Example, path.Dir(name), path.Base(name)).called(title).signed(s.text()).at(s, 1, s.count())
		if p := owner(projects, language, name); p != nil {
			c.in(p.name)
		}
		return c
	})
}

func knownLanguage(l string) bool {
	switch l {
	case "go", "python", "javascript", "typescript", "rust", "shell":
		return true
	}
	return false
}
