package prose

import "strings"

// tableRows writes a table anew: as many cells in each row as the head has, and bars
// within code escaped.
func tableRows(lines []string, refs map[string]string) string {
	columns := len(cells(lines[0]))
	var out []string
	for i, l := range lines {
		if i == 1 {
			out = append(out, "|"+strings.Repeat(" --- |", columns))
			continue
		}
		row := cells(l)
		for len(row) < columns {
			row = append(row, "")
		}
		if len(row) > columns { // it had bars that were meant as text
			row = append(row[:columns-1], strings.Join(row[columns-1:], " | "))
		}
		for k := range row {
			row[k] = Cell(Inline(row[k], refs))
		}
		out = append(out, "| "+strings.Join(row, " | ")+" |")
	}
	return strings.Join(out, "\n")
}

// cells cuts a row at its bars; those in code and behind a backslash are text.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	var out []string
	now := ""
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			now += "|"
			i++
		case c == '`':
			n := i
			for n < len(line) && line[n] == '`' {
				n++
			}
			end := closing(line[n:], n-i)
			if end < 0 {
				now += line[i:n]
				i = n - 1
				continue
			}
			stop := n + end + n - i
			now += strings.ReplaceAll(line[i:stop], `\|`, "|")
			i = stop - 1
		case c == '|':
			out, now = append(out, strings.TrimSpace(now)), ""
		default:
			now += line[i : i+1]
		}
	}
	return append(out, strings.TrimSpace(now))
}
