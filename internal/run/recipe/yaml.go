package recipe

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/text"
)

// document reads the one YAML document of a file; nil where something is wrong already.
func (n *mistakeList) document(data []byte) *yaml.Node {
	line := func(at int) int { return bytes.Count(data[:at], []byte("\n")) + 1 }
	switch {
	case len(data) > MaxSize:
		n.say(1, "the file has more than %d bytes, and no more are read: make it shorter", MaxSize)
		return nil
	case !utf8.Valid(data):
		at := 0
		for r, size := utf8.DecodeRune(data); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(data[at:]) {
			at += size
		}
		n.say(line(at), "the text is not UTF-8: save the file as UTF-8")
		return nil
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		n.say(line(at), "the text contains NUL: take it out")
		return nil
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && doc.Content[0].ShortTag() == "!!null" && doc.Content[0].Value == "" {
		n.say(1, "the file is empty: `ramet run new NAME` writes a recipe to begin with")
		return nil
	}
	if err == nil {
		err = dec.Decode(&more)
		if err == nil {
			n.say(more.Line, "a second document begins: keep one recipe in a file")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		n.syntax(err)
		return nil
	}
	if n.plain(&doc); len(n.found) > 0 {
		return nil
	}
	return doc.Content[0]
}

var yamlLine = text.Regexp(`^(?:yaml: )?(?:line ([0-9]+): )?`)

// syntax reports the error of the YAML library.
func (n *mistakeList) syntax(err error) {
	found := yamlLine().FindStringSubmatch(err.Error())
	at, _ := strconv.Atoi(found[1])
	n.say(at, "not YAML: %s: correct the line or the one before", text.Line(err.Error()[len(found[0]):], 200))
}

// plain refuses aliases, anchors and tags.
func (n *mistakeList) plain(root *yaml.Node) {
	for open := []*yaml.Node{root}; len(open) > 0; {
		node := open[len(open)-1]
		open = append(open[:len(open)-1], node.Content...)
		switch {
		case node.Kind == yaml.AliasNode:
			n.say(node.Line, "*%.40s is an alias: write the value itself", text.Safe(node.Value))
		case node.Anchor != "":
			n.say(node.Line, "&%.40s is an anchor: leave it out", text.Safe(node.Anchor))
		case node.Style&yaml.TaggedStyle != 0:
			n.say(node.Line, "%.40q is a tag: leave it out", node.Tag)
		case node.Kind == yaml.ScalarNode && strings.ContainsRune(node.Value, 0):
			n.say(node.Line, "the text contains NUL: take it out")
		}
	}
}

// kindOf names what a value is.
func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch node.ShortTag() {
	case "!!str":
		return "a text"
	case "!!null":
		return "empty"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	}
	return "a date"
}

// member is a key of a mapping with its value.
type member struct {
	key   string
	line  int
	value *yaml.Node
}

// members reads a mapping in its order, each key once.
func (n *mistakeList) members(node *yaml.Node, what string) []member {
	if node.Kind != yaml.MappingNode {
		n.say(node.Line, "%s is %s: make it a mapping, `key: value`", what, kindOf(node))
		return nil
	}
	var all []member
	first := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			n.say(key.Line, "a key of %s is %s: make it a word", what, kindOf(key))
			continue
		}
		if before, twice := first[key.Value]; twice {
			n.say(key.Line, "%.60q appears twice in %s, first in line %d: keep one", key.Value, what, before)
			continue
		}
		first[key.Value] = key.Line
		all = append(all, member{key.Value, key.Line, value})
	}
	return all
}

// fields reads a mapping with known keys.
func (n *mistakeList) fields(node *yaml.Node, what string, known ...string) map[string]member {
	found := map[string]member{}
	for _, m := range n.members(node, what) {
		if !slices.Contains(known, m.key) {
			n.say(m.line, "%s has no key %.60q: %s", what, m.key, suggestWord(m.key, known))
			continue
		}
		if m.value.Kind == yaml.ScalarNode && m.value.ShortTag() == "!!null" {
			n.say(m.line, "%s of %s is empty: give it a value, or leave it out", m.key, what)
			continue
		}
		found[m.key] = m
	}
	return found
}
