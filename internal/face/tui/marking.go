package tui

import (
	"strings"

	"ramet/internal/face/tui/markdown"
)

// mark marks the words that are looked for in lines that are shown.
func (f *search) mark(lines []string) {
	if !f.on || f.typed == "" {
		return
	}
	want := strings.ToLower(f.typed)
	for i, l := range lines {
		bare := strip(l)
		low := strings.ToLower(bare)
		if len(low) == len(bare) && strings.Contains(low, want) { // letters that change their size are not marked
			lines[i] = reversed(l, low, want)
		}
	}
}

// reversed turns words round in a line whose bare text is low. Everything else of the line stays: its
// colours, and its ground. Where that is reversed already, the words are not.
func reversed(l, low, want string) string {
	var out strings.Builder
	turned := false // the line itself is reversed here
	turn := func(on bool) {
		if on != turned {
			out.WriteString("\x1b[7m")
		} else {
			out.WriteString("\x1b[27m")
		}
	}
	next := strings.Index(low, want) // in low, of which at bytes are written
	for at, inside := 0, false; l != ""; {
		if end := markdown.StyleEnd(l); l[0] == 0x1b && end > 0 {
			out.WriteString(l[:end])
			turned = turns(l[2:end-1], turned)
			if l = l[end:]; inside {
				turn(true)
			}
			continue
		}
		if at == next {
			inside = true
			turn(true)
		}
		out.WriteByte(l[0])
		l, at = l[1:], at+1
		if inside && at == next+len(want) {
			inside = false
			turn(false)
			if n := strings.Index(low[at:], want); n >= 0 {
				next = at + n
			}
		}
	}
	return out.String()
}

// turns says whether text is reversed behind a style, as it was before it or not.
func turns(codes string, was bool) bool {
	all := strings.Split(codes, ";")
	for i := 0; i < len(all); i++ {
		switch all[i] {
		case "", "0", "27":
			was = false
		case "7":
			was = true
		case "38", "48": // a colour follows: 5 and a number, or 2 and three
			if i+1 < len(all) && all[i+1] == "2" {
				i += 4
			} else {
				i += 2
			}
		}
	}
	return was
}
