package scribe

import "strings"

// wide is how long a declaration may be on one line.
const wide = 100

// spread puts the parameters of a long declaration on lines of their own, where the
// language does not mind. Go's declarations are written by gofmt already.
func spread(code, language string) string {
	switch language {
	case "python", "javascript", "typescript", "rust":
	default:
		return code
	}
	var out []string
	for line := range strings.SplitSeq(code, "\n") {
		out = append(out, spreadLine(line))
	}
	return strings.Join(out, "\n")
}

func spreadLine(line string) string {
	open := strings.IndexByte(line, '(')
	if len(line) <= wide || open < 0 || strings.ContainsAny(line[:open], "\"'#`=") {
		return line
	}
	var parts []string
	depth, angles, from := 0, 0, open+1
	var quote byte
	for i := open; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '`' || c == '\'' && !(i > 0 && (line[i-1] == '&' || line[i-1] == '<')): // not a lifetime
			quote = c
		case c == '<' && i > 0 && word(line[i-1]): // Record<string, T>
			angles++
		case c == '>' && angles > 0 && line[i-1] != '-' && line[i-1] != '=':
			angles--
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			if depth--; depth > 0 {
				continue
			}
			if last := strings.TrimSpace(line[from:i]); last != "" {
				parts = append(parts, last+",")
			}
			if len(parts) < 2 {
				return line
			}
			if n := len(parts) - 1; strings.HasPrefix(parts[n], "**") || strings.HasPrefix(parts[n], "...") || strings.HasPrefix(parts[n], "*") {
				parts[n] = strings.TrimSuffix(parts[n], ",") // not every version takes a comma there
			}
			margin := line[:len(line)-len(strings.TrimLeft(line, " "))]
			return line[:open+1] + "\n" + margin + "    " + strings.Join(parts, "\n"+margin+"    ") + "\n" + margin + line[i:]
		case c == ',' && depth == 1 && angles == 0:
			parts = append(parts, strings.TrimSpace(line[from:i+1]))
			from = i + 1
		}
	}
	return line
}

func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
