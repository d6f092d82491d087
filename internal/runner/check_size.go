package runner

import (
	"bytes"
	"fmt"
	"io/fs"
)

// CheckSize looks at how much was changed. It needs Tree, Changes and Limits.
func CheckSize(s *CheckSite) []Finding {
	var out findings
	if max := s.Limits.Files; max > 0 && len(s.Changes) > max {
		out.add(Error, "LIMIT_FILES", "", 0, fmt.Sprintf("more than %d files were changed: change fewer, or raise the limit", max), "")
	}
	if s.Limits.LinesPerFile <= 0 {
		return out.sorted()
	}
	for _, p := range s.changed() {
		data, err := fs.ReadFile(s.Tree, p)
		if err != nil {
			out.add(Error, "FILE_UNREADABLE", p, 0, "the file cannot be read: write it again", "")
			continue
		}
		lines := bytes.Count(data, []byte("\n"))
		if len(data) > 0 && data[len(data)-1] != '\n' {
			lines++
		}
		if lines > s.Limits.LinesPerFile {
			out.add(Error, "LIMIT_LINES", p, 0, fmt.Sprintf("the file has more than %d lines: shorten it, or split it into several", s.Limits.LinesPerFile), "")
		}
	}
	return out.sorted()
}
