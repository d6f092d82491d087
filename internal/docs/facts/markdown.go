package facts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The patterns are made when first needed: most commands of the binary never read a README.
var patterns = sync.OnceValue(func() (p struct {
	fence, span, comment, image, imageRef, empty, link, ref, def, tag, breaks, code, blank *regexp.Regexp
}) {
	p.fence = regexp.MustCompile("(?m)^ {0,3}(```|~~~)[^\n]*\n(?s:.*?)^ {0,3}(```|~~~)[ \t]*$")
	p.span = regexp.MustCompile("``[^\n]+?``|`[^`\n]+`")
	p.comment = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	p.image = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	p.imageRef = regexp.MustCompile(`!\[[^\]]*\]\[[^\]]*\]`)
	p.empty = regexp.MustCompile(`\[\s*\](\([^)]*\)|\[[^\]]*\])`)
	p.link = regexp.MustCompile(`\[([^\[\]]*)\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\))?[^()\s<>]*)>?[^()]*\)`)
	p.ref = regexp.MustCompile(`\[([^\[\]\n]+)\](?:\[([^\[\]\n]*)\])?`)
	p.def = regexp.MustCompile(`(?m)^ {0,3}\[([^\]\n]+)\]:[ \t]*<?(\S+?)>?([ \t].*)?$`)
	p.tag = regexp.MustCompile(`(?i)</?(a|p|div|img|h[1-6]|span|sub|sup|kbd|table|thead|tbody|tr|td|th|ul|ol|li|details|summary|center|strong|em|b|i|u|s|picture|source|pre|font|video|blockquote|dl|dt|dd|small|section|nav)(\s[^<>]*)?/?>`)
	p.breaks = regexp.MustCompile(`(?i)<(br|hr)\s*/?>`)
	p.code = regexp.MustCompile(`(?i)<code>([^<\n]*)</code>`)
	p.blank = regexp.MustCompile(`\n{3,}`)
	return p
})

// cleanMarkdown makes text that can stand on another page: no pictures, comments, HTML or
// links into the repository. Definitions are those of the whole file.
func cleanMarkdown(text string, defs map[string]string) string {
	p := patterns()
	var kept []string
	keep := func(s string) string {
		kept = append(kept, s)
		return fmt.Sprintf("\x00%d\x00", len(kept)-1)
	}
	text = strings.ReplaceAll(text, "\x00", "")
	text = p.fence.ReplaceAllStringFunc(text, keep)
	text = p.span.ReplaceAllStringFunc(text, keep)
	text = p.comment.ReplaceAllString(text, "")
	text = p.breaks.ReplaceAllString(text, "\n")
	text = p.code.ReplaceAllStringFunc(text, func(s string) string { return keep("`" + p.code.FindStringSubmatch(s)[1] + "`") })
	text = p.tag.ReplaceAllString(text, "")
	text = p.image.ReplaceAllString(text, "")
	text = p.imageRef.ReplaceAllString(text, "")
	text = p.empty.ReplaceAllString(text, "")
	text = p.def.ReplaceAllString(text, "")
	text = p.ref.ReplaceAllStringFunc(text, func(s string) string {
		m := p.ref.FindStringSubmatch(s)
		name := m[2]
		if name == "" {
			name = m[1]
		}
		if url := defs[strings.ToLower(name)]; absolute(url) {
			return "[" + m[1] + "](" + url + ")"
		} else if url != "" || m[2] != "" {
			return m[1]
		}
		return s
	})
	text = p.link.ReplaceAllStringFunc(text, func(s string) string {
		m := p.link.FindStringSubmatch(s)
		if absolute(m[2]) {
			return "[" + m[1] + "](" + m[2] + ")"
		}
		return m[1]
	})
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t")
	}
	text = p.blank.ReplaceAllString(strings.Join(lines, "\n"), "\n\n")
	return strings.TrimRight(outdent(strings.Trim(restore(text, kept), "\n")), " \t\n")
}

// outdent takes away up to three spaces that all lines share: they mean nothing.
func outdent(text string) string {
	for range 3 {
		if !strings.HasPrefix(text, " ") || strings.Contains(strings.ReplaceAll(strings.ReplaceAll(text, "\n\n", "\n"), "\n ", ""), "\n") {
			break
		}
		text = strings.ReplaceAll(text[1:], "\n ", "\n")
	}
	return text
}

// restore puts back what was kept; spans can lie in what was kept later.
func restore(text string, kept []string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "\x00")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		number, after, _ := strings.Cut(rest, "\x00")
		if n, err := strconv.Atoi(number); err == nil && n < len(kept) {
			b.WriteString(restore(kept[n], kept[:n]))
		}
		text = after
	}
}

func absolute(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "mailto:")
}

// linkDefs are the reference definitions of a file.
func linkDefs(text string) map[string]string {
	defs := map[string]string{}
	for _, m := range patterns().def.FindAllStringSubmatch(text, 1000) {
		if key := strings.ToLower(m[1]); defs[key] == "" {
			defs[key] = m[2]
		}
	}
	return defs
}

// unmark keeps the words of one line: for titles.
func unmark(s string) string {
	s = cleanMarkdown(s, nil)
	s = patterns().link.ReplaceAllString(s, "$1")
	return strings.TrimSpace(strings.NewReplacer("`", "", "**", "", "__", "", "*", "", "\\", "").Replace(s))
}
