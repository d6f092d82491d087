package local

import (
	"fmt"
	"strings"

	"ramet/internal/base/text"
)

// lineNumbers returns the numbers of the lines in which a text begins, at most ten of them.
func lineNumbers(body, old string) string {
	var lines []string
	line, from := 1, 0
	for len(lines) < 10 {
		i := strings.Index(body[from:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		line += strings.Count(body[from:from+i], "\n")
		lines = append(lines, fmt.Sprint(line))
		line += strings.Count(old, "\n")
		from += i + len(old)
	}
	return strings.Join(lines, ", ") + ", …"
}

const (
	mostCompared = 5000 // lines in which a similar one is looked for
	mostNear     = 12   // lines of a similar place that are shown
)

// nearestPlace shows the place that is most like what was looked for.
func nearestPlace(body, old string) string {
	wanted := trimLines(strings.Split(strings.Trim(old, "\n"), "\n"))
	if strings.Join(wanted, "") == "" {
		return " It consists of spaces and line ends only."
	}
	lines := strings.Split(body, "\n")
	plain := trimLines(lines[:min(len(lines), mostCompared)])
	if at, like := mostAlike(plain, wanted); like*2 > len(wanted) || like == len(wanted) {
		var out strings.Builder
		end := min(at+len(wanted), len(lines))
		for n := at; n < min(end, at+mostNear); n++ {
			out.WriteString(numberedLine(n+1, lines[n]))
		}
		why := "Nearest, with differences"
		if like == len(wanted) {
			why = "But for spaces and tabs it is"
		}
		if d := dosLines(lines[at:end], at+1); d != "" && strings.Contains(strings.ReplaceAll(body, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")) {
			why = fmt.Sprintf("But for the line ends, of which the file has two kinds (\\r\\n in lines %s, \\n in others; write them so, or replace within a line), it is", d)
		}
		return fmt.Sprintf(" %s in lines %d to %d:\n%s", why, at+1, end, out.String())
	}
	if near := text.NearestWord(firstWord(wanted), plain); near != "" {
		for n, line := range plain {
			if line == near {
				return fmt.Sprintf(" Most like its first line is line %d: %q.", n+1, lines[n])
			}
		}
	}
	return " Read the file again to see what does."
}

// dosLines returns the numbers of lines that end as in DOS, which is not to be seen where they are shown.
func dosLines(lines []string, first int) string {
	var out []string
	for i, l := range lines {
		if strings.HasSuffix(l, "\r") && len(out) < mostNear {
			out = append(out, fmt.Sprint(first+i))
		}
	}
	return strings.Join(out, ", ")
}

// mostAlike finds the place where most lines are the same, and counts these.
func mostAlike(lines, wanted []string) (at, like int) {
	for i := range lines {
		n := 0
		for j, w := range wanted {
			if i+j < len(lines) && lines[i+j] == w {
				n++
			} else if j > 8 && n == 0 {
				break
			}
		}
		if n > like && strings.Join(lines[i:min(len(lines), i+len(wanted))], "") != "" {
			at, like = i, n
		}
	}
	return at, like
}

func trimLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(strings.Fields(l), " ")
	}
	return out
}

// firstWord returns the first line that says something.
func firstWord(lines []string) string {
	for _, l := range lines {
		if l != "" {
			return l
		}
	}
	return ""
}
