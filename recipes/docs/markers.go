package docs

import (
	"bytes"
	"path"
	"strings"

	"ramet/internal/base/fault"
)

// sectionMarks are the lines that what is ours stands between.
func sectionMarks(name, section string) (begin, end string) {
	if path.Ext(name) == ".rst" {
		return ".. ramet:begin " + section, ".. ramet:end " + section
	}
	return "<!-- ramet:begin " + section + " -->", "<!-- ramet:end " + section + " -->"
}

// findSection finds what is ours in a page: from the beginning of the first marker to the end of the
// last line of the second. ok: there are markers. They stand once, in their order.
func findSection(page []byte, name, section string) (from, to int, ok bool, err error) {
	begin, end := sectionMarks(name, section)
	from, to = -1, -1
	at := 0
	for line := range bytes.Lines(page) {
		switch strings.TrimRight(string(line), "\r\n \t") {
		case begin:
			if from >= 0 {
				return 0, 0, false, brokenMarks(name, section)
			}
			from = at
		case end:
			if from < 0 || to >= 0 {
				return 0, 0, false, brokenMarks(name, section)
			}
			to = at + len(line)
		}
		at += len(line)
	}
	if from >= 0 && to < 0 {
		return 0, 0, false, brokenMarks(name, section)
	}
	return from, to, from >= 0, nil
}

func brokenMarks(name, section string) error {
	begin, end := sectionMarks(name, section)
	return fault.New(fault.Conflict, "the markers in %s are not one %q and then one %q", name, begin, end).WithHint("put them right, or remove both")
}

// putSection puts a text between the markers of a page; a page that is not there is new.
func putSection(page []byte, name, section, text string) ([]byte, error) {
	begin, end := sectionMarks(name, section)
	block := begin + "\n\n" + strings.TrimSpace(text) + "\n\n" + end + "\n"
	if page == nil {
		return []byte(block), nil
	}
	from, to, ok, err := findSection(page, name, section)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.Conflict, "%s is somebody else's page: it has no markers of the section %s", name, section)
	}
	if bytes.Contains(page[from:to], []byte("\r\n")) {
		block = strings.ReplaceAll(block, "\n", "\r\n")
	}
	if to == len(page) && !bytes.HasSuffix(page, []byte("\n")) {
		block = strings.TrimRight(block, "\r\n")
	}
	return append(append(bytes.Clone(page[:from]), block...), page[to:]...), nil
}
