package runner

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// CheckSecrets looks for secrets in the files that were changed and in the other texts that
// are published. What only looks random is a warning: texts are full of hashes.
// It needs Tree, Changes and Secrets.
func CheckSecrets(s *CheckSite) []Finding {
	var out findings
	look := func(name, of, text string) {
		for _, found := range s.Secrets(text) {
			if found.Sure {
				out.add(Blocker, "SECRET", name, found.Line, of+fmt.Sprintf("this looks like a secret (%s): take it out, and write a placeholder such as YOUR_TOKEN", found.Name), "replace it by a placeholder; if it is real, revoke it")
			} else {
				out.add(Warn, "SECRET_MAYBE", name, found.Line, of+fmt.Sprintf("this might be a secret (%s): look at it, and write a placeholder if it is", found.Name), "")
			}
		}
	}
	if s.Secrets == nil {
		return nil
	}
	for _, p := range s.changed() {
		data, err := fs.ReadFile(s.Tree, p)
		if err != nil {
			out.add(Error, "FILE_UNREADABLE", p, 0, "the file cannot be read, so it may contain a secret: write it again", "")
			continue
		}
		look(p, "", string(data))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Texts)) {
		look("", name+": ", s.Texts[name])
	}
	return out.sorted()
}
