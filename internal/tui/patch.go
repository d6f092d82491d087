package tui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ramet/internal/late"
)

// hunkHead is the head of a hunk, with where it begins on both sides.
var hunkHead = late.Regexp(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// patched draws the lines of a patch: with the numbers of the new file, or of the old one where
// a line is gone, and the words marked in which a line differs from the one that it replaces.
// lines are harmless.
func patched(lines []string) []string {
	out := make([]string, 0, len(lines))
	was, is, wide := 0, 0, numbersWide(lines)
	if wide == 0 {
		for _, l := range lines {
			out = append(out, diffTone(l).of(l))
		}
		return out
	}
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if m := hunkHead().FindStringSubmatch(l); m != nil {
			fmt.Sscan(m[1], &was)
			fmt.Sscan(m[2], &is)
			out = append(out, strings.Repeat(" ", wide+1)+accent.of(l))
			continue
		}
		if is == 0 && was == 0 || l == "" || strings.HasPrefix(l, "diff ") || strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ") || l[0] == '\\' {
			if strings.HasPrefix(l, "diff ") || strings.HasPrefix(l, "--- ") {
				was, is = 0, 0
			}
			out = append(out, strings.Repeat(" ", wide+1)+diffTone(l).of(l))
			continue
		}
		if l[0] != '-' && l[0] != '+' {
			out = append(out, numbered(is, wide, faint.of(l)))
			was, is = was+1, is+1
			continue
		}
		gone, come := signed(lines[i:], '-'), []string(nil)
		come = signed(lines[i+len(gone):], '+')
		for j, g := range gone {
			from, to := 1, len(g)
			if len(gone) == len(come) { // one for one: only what differs is marked
				from, to = differs(g, come[j])
			}
			out = append(out, numbered(was, wide, markedPart(bad, g, from, to, len(gone) == len(come))))
			was++
		}
		for j, c := range come {
			from, to := 1, len(c)
			if len(gone) == len(come) {
				from, to = differs(c, gone[j])
			}
			out = append(out, numbered(is, wide, markedPart(good, c, from, to, len(gone) == len(come))))
			is++
		}
		i += len(gone) + len(come) - 1
	}
	return out
}

// signed are the first lines that begin with a sign.
func signed(lines []string, sign byte) []string {
	n := 0
	for n < len(lines) && lines[n] != "" && lines[n][0] == sign {
		n++
	}
	return lines[:n]
}

func numbered(n, wide int, l string) string { return faint.of(fmt.Sprintf("%*d ", wide, n)) + l }

// numbersWide is how many digits the largest number has; 0: no hunk is there.
func numbersWide(lines []string) int {
	most, at := 0, 0
	for _, l := range lines {
		if m := hunkHead().FindStringSubmatch(l); m != nil {
			var a, b int
			fmt.Sscan(m[1], &a)
			fmt.Sscan(m[2], &b)
			at = max(a, b)
		} else if at > 0 {
			at++
		}
		most = max(most, at)
	}
	if most == 0 {
		return 0
	}
	return len(fmt.Sprint(most))
}

// differs is the part of a line that the other one has not, behind their signs: what stands
// before and behind it is the same in both.
func differs(l, other string) (from, to int) {
	from = 1
	for from < len(l) && from < len(other) && l[from] == other[from] {
		from++
	}
	for from > 1 && from < len(l) && !utf8.RuneStart(l[from]) {
		from--
	}
	to = len(l)
	for end := len(other); to > from && end > from && l[to-1] == other[end-1]; end-- {
		to--
	}
	for to < len(l) && !utf8.RuneStart(l[to]) {
		to++
	}
	return from, to
}

// markedPart draws a line in a colour, and a part of it reversed.
func markedPart(st style, l string, from, to int, mark bool) string {
	if !mark || from >= to || from == 1 && to == len(l) {
		return st.of(l)
	}
	return st.of(l[:from]) + (st + ";7").of(l[from:to]) + st.of(l[to:])
}

// diffTone is how a line of a patch is drawn.
func diffTone(l string) style {
	switch {
	case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "diff "):
		return bold
	case strings.HasPrefix(l, "+"):
		return good
	case strings.HasPrefix(l, "-"):
		return bad
	case strings.HasPrefix(l, "@@"):
		return accent
	}
	return plain
}
