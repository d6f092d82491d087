package printer

import "bufio"

// indent writes JSON over several lines, as json.Indent does with two spaces.
// It takes what was encoded just now, without spaces, and does not check it
// again: that costs four times as much, and a tree of agents is megabytes. depth
// is how deep in a larger value it stands.
func indent(out *bufio.Writer, src []byte, depth int) {
	newline := func() {
		out.WriteByte('\n')
		for range depth {
			out.WriteString("  ")
		}
	}
	for i := 0; i < len(src); {
		from := i
		i++
		switch c := src[from]; c {
		case '"':
			for src[i] != '"' {
				if src[i] == '\\' {
					i++
				}
				i++
			}
			i++
			out.Write(src[from:i])
		case '{', '[':
			out.WriteByte(c)
			if src[i] == c+2 { // empty: } and ] stand two behind { and [
				out.WriteByte(src[i])
				i++
				continue
			}
			depth++
			newline()
		case '}', ']':
			depth--
			newline()
			out.WriteByte(c)
		case ',':
			out.WriteByte(c)
			newline()
		case ':':
			out.WriteString(": ")
		default: // numbers, true, false, null, and the line feed at the end
			out.WriteByte(c)
		}
	}
}
