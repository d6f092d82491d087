package scribe

import (
	"strings"
)

// Block marks on a page what is written here; what stands around it is somebody else's
// and stays. A new page is one block, so that it can be written anew later, and people may
// put their own text before and behind it.

func begin(name string) string { return "<!-- ramet:begin " + name + " -->" }
func end(name string) string   { return "<!-- ramet:end " + name + " -->" }

// Fresh is a page that does not exist yet.
func Fresh(a *Assignment, p Page) string {
	return block(a.Section.Name, write(a, p, false)) + "\n"
}

func block(name, body string) string {
	return begin(name) + "\n\n" + strings.TrimRight(body, "\n") + "\n\n" + end(name)
}

// Change is an edit of a page: a text that stands on it once, and what takes its place.
type Change struct{ Old, New string }

// Revise says how a page that exists is brought up to date: its block is replaced, or put
// at the end if it has none. why is set if that cannot be done; a change without Old means
// that the page is empty.
func Revise(a *Assignment, p Page, page string) (c Change, why string) {
	name := a.Section.Name
	lines := strings.Split(strings.TrimRight(page, "\n"), "\n")
	from, to, titled := -1, -1, false
	for i, l := range outline(lines) {
		switch bare := strings.TrimSpace(lines[i]); {
		case l.code:
		case bare == begin(name):
			if from >= 0 {
				return c, "it has two blocks of the section"
			}
			from = i
		case bare == end(name):
			if from < 0 || to >= 0 {
				return c, "the marks of its block are not in order"
			}
			to = i
		case l.level == 1 && (from < 0 || to >= 0):
			titled = true
		}
	}
	switch {
	case from >= 0 && to < 0:
		return c, "its block has no end"
	case from >= 0:
		c = Change{strings.Join(lines[from:to+1], "\n"), block(name, write(a, p, titled))}
	case strings.TrimSpace(page) == "":
		return Change{"", Fresh(a, p)}, ""
	case !titled:
		// What is there gets a title by what is put before it.
		old := head(lines)
		if old == "" {
			return c, "there is no place at its beginning that could be told from others"
		}
		c = Change{old, block(name, write(a, p, false)) + "\n\n" + old}
	default:
		old := tail(lines)
		if old == "" {
			return c, "there is no place at its end that could be told from others"
		}
		c = Change{old, old + "\n\n" + block(name, write(a, p, titled))}
	}
	if strings.Count(page, c.Old) != 1 {
		return c, "its block stands on it more than once"
	}
	return c, ""
}

// tail is so much of the end of a page as stands there once.
func tail(lines []string) string {
	text := strings.Join(lines, "\n")
	for n := 1; n <= len(lines); n++ {
		t := strings.Join(lines[len(lines)-n:], "\n")
		if strings.TrimSpace(t) != "" && strings.Count(text, t) == 1 {
			return t
		}
	}
	return ""
}

// head is so much of the beginning.
func head(lines []string) string {
	text := strings.Join(lines, "\n")
	for n := 1; n <= len(lines); n++ {
		t := strings.Join(lines[:n], "\n")
		if strings.TrimSpace(t) != "" && strings.Count(text, t) == 1 {
			return t
		}
	}
	return ""
}

// line is what a line of a page is.
type line struct {
	code  bool // in a fence, or one of its marks
	level int  // of a heading
}

// outline tells what each line is. Front matter counts as code; a title in it as a title.
func outline(lines []string) []line {
	out := make([]line, len(lines))
	mark := ""
	front := len(lines) > 0 && lines[0] == "---"
	for i, l := range lines {
		bare := strings.TrimSpace(l)
		if front {
			out[i].code = true
			if strings.HasPrefix(bare, "title:") {
				out[i] = line{level: 1}
			}
			front = i == 0 || bare != "---"
			continue
		}
		if m := fenceMark().FindStringSubmatch(l); m != nil && (mark == "" || strings.HasPrefix(m[1], mark) && strings.TrimSpace(m[2]) == "") {
			if out[i].code = true; mark == "" {
				mark = m[1]
			} else {
				mark = ""
			}
			continue
		}
		if mark != "" {
			out[i].code = true
			continue
		}
		if m := headingLine().FindStringSubmatch(l); m != nil {
			out[i].level = len(m[1])
		} else if i > 0 && strings.Trim(bare, "=") == "" && bare != "" && strings.TrimSpace(lines[i-1]) != "" && !out[i-1].code {
			out[i].level = 1
		}
	}
	return out
}

var (
	fenceMark   = lazily("^ {0,3}(`{3,}|~{3,})([^`]*)$")
	headingLine = lazily(`^ {0,3}(#{1,6})(?:[ \t]|$)`)
)

// unclosed says which fence is open at the end of a page, if one is.
func unclosed(lines []string) string {
	mark := ""
	for _, l := range lines {
		if m := fenceMark().FindStringSubmatch(l); m != nil {
			switch {
			case mark == "":
				mark = m[1]
			case strings.HasPrefix(m[1], mark) && strings.TrimSpace(m[2]) == "":
				mark = ""
			}
		}
	}
	return mark
}
