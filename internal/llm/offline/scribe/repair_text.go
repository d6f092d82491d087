package scribe

import (
	"fmt"
	"slices"
	"strings"
)

var idIn = lazily(`claim "?([a-z0-9._-]+)"?`)

// statement takes out what a claim was cited for.
func (r *repair) statement() string {
	m := idIn().FindStringSubmatch(r.issue.Message)
	if m == nil {
		return ""
	}
	mark := "<!-- claim: " + m[1] + " -->"
	found := false
	for again := true; again; {
		again = false
		kinds := outline(r.lines)
		for i, l := range r.lines {
			if !kinds[i].code && strings.Contains(l, mark) {
				r.dropStatement(i, mark, kinds)
				found, again = true, true
				break
			}
		}
	}
	if !found {
		return ""
	}
	r.tidy()
	return "take out what claim " + m[1] + " was cited for"
}

// dropStatement drops the item, the paragraph or the sentence that a marker ends.
func (r *repair) dropStatement(i int, mark string, kinds []line) {
	alone := strings.TrimSpace(anyMarker().ReplaceAllString(r.lines[i], "")) == ""
	from, to := i, i+1
	for from > 0 && strings.TrimSpace(r.lines[from-1]) != "" && !kinds[from-1].code && kinds[from-1].level == 0 {
		from--
	}
	for to < len(r.lines) && strings.TrimSpace(r.lines[to]) != "" && !kinds[to].code && kinds[to].level == 0 {
		to++
	}
	block := strings.Join(r.lines[from:to], "\n")
	switch {
	case alone && strings.Count(block, "<!-- claim:") > 1:
		// One of several under a table: the row cannot be told, the marker can.
		r.lines[i] = strings.TrimSpace(strings.Replace(r.lines[i], mark, "", 1))
		if r.lines[i] == "" {
			r.lines = slices.Delete(r.lines, i, i+1)
		}
	case alone:
		r.lines = slices.Delete(r.lines, r.above(from, kinds), to)
	case itemLine().MatchString(r.lines[from]):
		for from = i; from > 0 && !itemLine().MatchString(r.lines[from]); from-- {
		}
		for to = i + 1; to < len(r.lines) && strings.TrimSpace(r.lines[to]) != "" && !itemLine().MatchString(r.lines[to]) && !kinds[to].code; to++ {
		}
		r.lines = slices.Delete(r.lines, from, to)
	case strings.Count(block, "<!-- claim:") == strings.Count(block, mark):
		r.lines = slices.Delete(r.lines, from, to)
	default:
		at := strings.Index(block, mark)
		start := 0
		if before := anyMarker().FindAllStringIndex(block[:at], -1); before != nil {
			start = before[len(before)-1][1]
		}
		block = strings.TrimSpace(block[:start] + " " + strings.TrimSpace(block[at+len(mark):]))
		r.lines = slices.Replace(r.lines, from, to, strings.Split(block, "\n")...)
	}
}

var itemLine = lazily(`^\s*(?:[-*+]|\d{1,9}[.)])\s`)

// above is where the code or the table begins that stands right above a line.
func (r *repair) above(i int, kinds []line) int {
	n := i - 1
	for n >= 0 && strings.TrimSpace(r.lines[n]) == "" {
		n--
	}
	switch {
	case n >= 0 && kinds[n].code:
		for n > 0 && kinds[n-1].code && !fenceMark().MatchString(r.lines[n-1]) {
			n--
		}
		return max(n-1, 0)
	case n >= 0 && strings.HasPrefix(strings.TrimSpace(r.lines[n]), "|"):
		for n > 0 && strings.HasPrefix(strings.TrimSpace(r.lines[n-1]), "|") {
			n--
		}
		return n
	}
	return i
}

// headings lets them go down one level at a time from one title.
func (r *repair) headings() string {
	last, titles := 0, 0
	var drop []int
	for i, l := range outline(r.lines) {
		m := headingLine().FindStringSubmatch(r.lines[i])
		if l.code || m == nil {
			if l.level == 1 {
				last, titles = 1, titles+1
			}
			continue
		}
		words := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(r.lines[i]), "#"))
		if strings.Trim(words, "# ") == "" {
			drop = append(drop, i)
			continue
		}
		level := l.level
		if level == 1 {
			if titles++; titles > 1 {
				level = 2
			}
		}
		if last > 0 {
			level = min(level, last+1)
		}
		last = level
		if level != l.level {
			r.lines[i] = strings.Repeat("#", level) + " " + words
		}
	}
	for _, i := range slices.Backward(drop) {
		r.lines = slices.Delete(r.lines, i, i+1)
	}
	if len(drop) > 0 {
		r.tidyBlank()
	}
	return "put the headings in order"
}

// title puts the title at the top.
func (r *repair) title() string {
	kinds := outline(r.lines)
	top := 0
	for top < len(r.lines) && (kinds[top].code && strings.HasPrefix(r.lines[0], "---") || kinds[top].level == 1 && headingLine().FindString(r.lines[top]) == "" || strings.HasPrefix(r.lines[top], "<!--") || strings.TrimSpace(r.lines[top]) == "") {
		top++
	}
	words := "# " + r.page.Title
	for i, l := range kinds {
		if l.level == 1 && headingLine().MatchString(r.lines[i]) {
			if i < top {
				return ""
			}
			words = r.lines[i]
			r.lines = slices.Delete(r.lines, i, i+1)
			break
		}
	}
	if strings.TrimSpace(strings.TrimLeft(words, "#")) == "" {
		return ""
	}
	r.lines = slices.Insert(r.lines, top, words, "")
	r.tidyBlank()
	return "put the title at the top"
}

// tidyBlank joins blank lines that met.
func (r *repair) tidyBlank() {
	kinds := outline(r.lines)
	var out []string
	for i, l := range r.lines {
		if n := len(out); n > 0 && strings.TrimSpace(l) == "" && strings.TrimSpace(out[n-1]) == "" && !kinds[i].code {
			continue
		}
		out = append(out, l)
	}
	r.lines = out
}

// fence closes code that goes on to the end: before the mark that ends the block, if
// there is one.
func (r *repair) fence() string {
	mark := unclosed(r.lines)
	if mark == "" {
		return ""
	}
	n := len(r.lines)
	for n > 0 && (strings.TrimSpace(r.lines[n-1]) == "" || strings.HasPrefix(strings.TrimSpace(r.lines[n-1]), "<!--")) {
		n--
	}
	r.lines = slices.Insert(r.lines, n, mark)
	return "close the code block"
}

var leftMarker = lazily(`<!--+\s*claims?\b[^>\n]*(?:-->|$)`)

// markers takes out markers that are none.
func (r *repair) markers() string {
	r.prose(func(s string) string {
		return leftMarker().ReplaceAllStringFunc(s, func(m string) string {
			if anyMarker().MatchString(m) {
				return m
			}
			return ""
		})
	})
	return "take out what only looks like a marker"
}

// wrapped takes away the fences around a whole page.
func (r *repair) wrapped() string {
	first, last := 0, len(r.lines)-1
	for first < last && !fenceMark().MatchString(r.lines[first]) {
		first++
	}
	for last > first && !fenceMark().MatchString(r.lines[last]) {
		last--
	}
	if first == last {
		return ""
	}
	r.lines = slices.Delete(r.lines, last, last+1)
	r.lines = slices.Delete(r.lines, first, first+1)
	return "take away the fences around the page"
}

// table gives short rows the cells that they lack.
func (r *repair) table() string {
	changed := false
	columns := 0
	for i, l := range outline(r.lines) {
		row := strings.TrimSpace(r.lines[i])
		if l.code || !strings.HasPrefix(row, "|") {
			columns = 0
			continue
		}
		n := cells(row)
		if columns == 0 {
			columns = n
		}
		if n < columns {
			r.lines[i] = strings.TrimSuffix(row, "|") + strings.Repeat("| ", columns-n) + "|"
			if strings.HasSuffix(row, "|") {
				r.lines[i] = row + strings.Repeat(" |", columns-n)
			}
			changed = true
		}
	}
	if !changed {
		return ""
	}
	return "give all rows of the table as many cells"
}

func cells(row string) int {
	n := 0
	for i := 1; i < len(row); i++ {
		if row[i] == '|' && row[i-1] != '\\' {
			n++
		}
	}
	if !strings.HasSuffix(row, "|") || strings.HasSuffix(row, `\|`) {
		n++
	}
	return n
}

var htmlTag = lazily(`</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>\n]*)?/?>`)

// html shows tags as text, or drops those that do harm.
func (r *repair) html() string {
	at := r.at(r.issue.Line)
	if at < 0 || outline(r.lines)[at].code {
		return ""
	}
	changed := false
	r.lines[at] = outsideSpans(r.lines[at], func(s string) string {
		return htmlTag().ReplaceAllStringFunc(s, func(t string) string {
			changed = true
			if r.issue.Code == "MD_HTML_HARMFUL" {
				return ""
			}
			return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(t)
		})
	})
	if !changed {
		return ""
	}
	return "write tags as text"
}

// outsideSpans changes what does not stand in backticks.
func outsideSpans(s string, change func(string) string) string {
	parts := strings.Split(s, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = change(parts[i])
	}
	return strings.Join(parts, "`")
}

// secret removes the line.
func (r *repair) secret() string {
	at := r.at(r.issue.Line)
	if at < 0 || fenceMark().MatchString(r.lines[at]) || headingLine().MatchString(r.lines[at]) && !outline(r.lines)[at].code {
		return ""
	}
	code := outline(r.lines)[at].code
	r.lines = slices.Delete(r.lines, at, at+1)
	if !code {
		r.tidy()
	}
	return fmt.Sprintf("remove line %d", at+1)
}
