package prose

import (
	"strings"
)

// jsDoc reads a comment of JavaScript or TypeScript: Markdown, then tags.
func jsDoc(text, language string) []Block {
	text = inlineTag().ReplaceAllStringFunc(text, func(s string) string {
		m := inlineTag().FindStringSubmatch(s)
		if web().MatchString(m[1]) {
			return Link(strings.TrimSpace(orElse(m[2], m[1])), m[1])
		}
		return CodeSpan(orElse(m[2], m[1]))
	})
	head, tags := jsTags(text)
	out := markdown(head, language)
	var params, after []Block
	var items []string
	for _, t := range tags {
		body := strings.TrimSpace(t.body)
		typ, rest := jsType(body)
		switch t.name {
		case "param", "arg", "argument", "property", "prop":
			name, desc := jsParam(rest)
			items = append(items, "- "+Wrap(entry(name, typ, Inline(strings.Join(strings.Fields(desc), " "), nil)), "  "))
		case "returns", "return":
			if s := entry("", typ, Inline(rest, nil)); s != "" {
				after = append(after, Block{Text: "**Returns** " + s})
			}
		case "throws", "exception":
			if s := entry("", typ, Inline(rest, nil)); s != "" {
				after = append(after, Block{Text: "**Throws** " + s})
			}
		case "deprecated":
			after = append(after, Block{Text: strings.TrimSpace("**Deprecated.** " + Inline(body, nil))})
		case "since":
			after = append(after, Block{Text: "**Since** " + Inline(body, nil)})
		case "remarks", "description", "desc", "summary", "fileoverview", "overview", "file":
			out = append(out, markdown(body, language)...)
		case "example":
			if caption := captionTag().FindStringSubmatch(body); caption != nil {
				after = append(after, Block{Text: Inline(caption[1], nil)})
				body = strings.TrimSpace(body[len(caption[0]):])
			}
			if strings.Contains(body, "```") {
				after = append(after, markdown(body, language)...)
			} else if body != "" {
				after = append(after, Block{Kind: Code, Text: strings.Trim(t.body, "\n"), Language: language})
			}
		}
	}
	if len(items) > 0 {
		params = []Block{{Text: "**Parameters:**"}, {Kind: List, Text: strings.Join(items, "\n")}}
	}
	return append(append(out, params...), after...)
}

var (
	inlineTag  = lazily(`\{@(?:link|linkcode|linkplain|see)\s+([^\s|}]+)(?:[\s|]+([^}]*))?\}`)
	captionTag = lazily(`^<caption>(.*?)</caption>`)
	tagLine    = lazily(`^\s*@([A-Za-z]+)\b[ \t]?(.*)$`)
	paramName  = lazily(`^\[?\s*([\w$.*]+(?:\[\])?)\s*(?:=\s*([^\]]*))?\]?`)
)

type jsTag struct{ name, body string }

// jsTags cuts a comment at the tags that begin a line, outside of fences.
func jsTags(text string) (head string, tags []jsTag) {
	var lines []string
	fence := false
	end := func() {
		body := strings.Join(lines, "\n")
		if len(tags) == 0 {
			head = body
		} else {
			tags[len(tags)-1].body += "\n" + body
		}
		lines = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fence = !fence
		}
		if m := tagLine().FindStringSubmatch(line); m != nil && !fence {
			end()
			tags = append(tags, jsTag{strings.ToLower(m[1]), m[2]})
			continue
		}
		lines = append(lines, line)
	}
	end()
	return head, tags
}

// jsType takes {type} off a tag.
func jsType(s string) (typ, rest string) {
	if !strings.HasPrefix(s, "{") {
		return "", s
	}
	depth := 0
	for i, r := range s {
		switch r {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return strings.TrimSpace(s[1:i]), strings.TrimSpace(s[i+1:])
			}
		}
	}
	return "", s
}

func jsParam(s string) (name, desc string) {
	m := paramName().FindStringSubmatch(s)
	if m == nil {
		return "", s
	}
	desc = strings.TrimSpace(s[len(m[0]):])
	desc = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(desc, "-"), "–"))
	if m[2] != "" {
		desc = strings.TrimSpace(desc + " (default " + CodeSpan(m[2]) + ")")
	}
	return m[1], desc
}

// entry is an item of a list of parameters; desc is Markdown.
func entry(name, typ, desc string) string {
	head := CodeSpan(name)
	if typ != "" {
		if head != "" {
			head += " (" + CodeSpan(typ) + ")"
		} else {
			head = CodeSpan(typ)
		}
	}
	switch {
	case head == "":
		return desc
	case desc == "":
		return head
	}
	return head + ": " + desc
}

func orElse(a, b string) string {
	if strings.TrimSpace(a) == "" {
		return b
	}
	return a
}
