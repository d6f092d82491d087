package kit

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/text"
)

// mostFront bounds the front matter, which is read by a parser that follows references.
const mostFront = 64 << 10

// front describes what stands before a text between two lines of three dashes, by key; values are
// texts, or lists of them.
type front map[string][]string

// splitFront takes a file apart. A file without front matter is all body.
func splitFront(data string) (front, string, error) {
	data = strings.TrimPrefix(strings.ToValidUTF8(data, "\uFFFD"), "\ufeff")
	data = strings.ReplaceAll(data, "\r\n", "\n")
	rest, ok := strings.CutPrefix(data, "---\n")
	if !ok {
		return front{}, data, nil
	}
	head, body, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return nil, "", fmt.Errorf("its front matter does not end: there is no second line with ---")
		}
	}
	if len(head) > mostFront {
		return nil, "", fmt.Errorf("its front matter has more than %d bytes", mostFront)
	}
	f, err := parseFront(head)
	return f, body, err
}

// parseFront reads YAML. What others write is often none, such as a description with a colon
// in it; then each line is a key and its text.
func parseFront(head string) (front, error) {
	out := front{}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(head), &doc); err != nil || len(doc.Content) > 0 && doc.Content[0].Kind != yaml.MappingNode {
		return plainFront(head)
	}
	if len(doc.Content) == 0 {
		return out, nil
	}
	top := doc.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := strings.ToLower(top.Content[i].Value), top.Content[i+1]
		switch value.Kind {
		case yaml.ScalarNode:
			if value.Tag != "!!null" {
				out[key] = []string{value.Value}
			}
		case yaml.SequenceNode:
			out[key] = []string{}
			for _, one := range value.Content {
				if one.Kind == yaml.ScalarNode {
					out[key] = append(out[key], one.Value)
				}
			}
		}
	}
	return out, nil
}

func plainFront(head string) (front, error) {
	out := front{}
	last := ""
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ":")
		switch {
		case strings.TrimSpace(line) == "":
		case ok && key == strings.TrimSpace(key) && key != "" && !strings.ContainsAny(key, " \t\"'{}[]"):
			last = strings.ToLower(key)
			out[last] = []string{strings.Trim(strings.TrimSpace(value), `"'`)}
		case last != "":
			out[last][0] = strings.TrimSpace(out[last][0] + " " + strings.TrimSpace(line))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("its front matter is not YAML, and has no lines with a key and a colon")
	}
	return out, nil
}

// text returns the value of the first key that has one.
func (f front) text(keys ...string) string {
	for _, k := range keys {
		if v := f[k]; len(v) > 0 {
			return strings.TrimSpace(strings.Join(v, " "))
		}
	}
	return ""
}

// list returns a list of words: of YAML, or with commas or spaces between them, but for those in
// parentheses. nil: the key is not there.
func (f front) list(keys ...string) []string {
	for _, k := range keys {
		v, ok := f[k]
		if !ok {
			continue
		}
		out := []string{}
		for _, one := range v {
			for _, word := range text.SplitOutside(one, ", \t\n", "()") {
				if word = strings.Trim(word, `"'`); word != "" {
					out = append(out, word)
				}
			}
		}
		return out
	}
	return nil
}

func (f front) yes(key string) bool {
	switch strings.ToLower(f.text(key)) {
	case "true", "yes", "on":
		return true
	}
	return false
}
