package prose

import "strings"

// RST is a line of reStructuredText as Markdown.
func RST(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = role().ReplaceAllStringFunc(s, func(r string) string {
		m := role().FindStringSubmatch(r)
		name := strings.TrimPrefix(m[1], "~")
		if name != m[1] {
			name = name[strings.LastIndexByte(name, '.')+1:]
		}
		if t := titled().FindStringSubmatch(name); t != nil {
			name = t[1]
		}
		return "``" + name + "``"
	})
	var kept []string
	keep := func(md string) string {
		kept = append(kept, md)
		return "\x01" + string(rune('\ue000'+len(kept)-1)) + "\x02"
	}
	if len(s) > 1<<16 {
		return Escape(s)
	}
	s = double().ReplaceAllStringFunc(s, func(c string) string { return keep(CodeSpan(strings.Trim(c, "`"))) })
	s = target().ReplaceAllStringFunc(s, func(l string) string {
		m := target().FindStringSubmatch(l)
		return keep(Link(Escape(m[1]), m[2]))
	})
	s = reference().ReplaceAllString(s, "$1")
	s = single().ReplaceAllStringFunc(s, func(c string) string { return keep(CodeSpan(strings.Trim(c, "`"))) })
	s = strong().ReplaceAllStringFunc(s, func(c string) string { return keep("**" + Escape(strings.Trim(c, "*")) + "**") })
	s = emphasis().ReplaceAllStringFunc(s, func(c string) string { return keep("*" + Escape(strings.Trim(c, "*")) + "*") })
	s = Escape(s)
	for i := len(kept) - 1; i >= 0; i-- {
		s = strings.ReplaceAll(s, "\x01"+string(rune('\ue000'+i))+"\x02", kept[i])
	}
	return s
}

var (
	role      = lazily("(?::[a-z]+)?:[a-z]+:`([^`]+)`")
	titled    = lazily(`^(.+?)\s*<[^>]*>$`)
	double    = lazily("``[^`]+``")
	target    = lazily("`([^`<>]+?)\\s*<([^<>\\s]+)>`__?")
	reference = lazily("`([^`]+)`__?\\b")
	single    = lazily("`[^`]+`")
	strong    = lazily(`\*\*[^*\s](?:[^*]*[^*\s])?\*\*`)
	emphasis  = lazily(`\*[^*\s](?:[^*]*[^*\s])?\*`)
)
