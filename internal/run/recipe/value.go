package recipe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// text reads a value that must be a text. A number where a text is wanted is asked to be
// quoted: 1.10 would not be what was written.
func (n *mistakeList) text(m member, what string) string {
	switch {
	case m.value == nil:
		return ""
	case m.value.Kind != yaml.ScalarNode:
		n.say(m.value.Line, "%s is %s: make it a text", what, kindOf(m.value))
	case m.value.ShortTag() != "!!str":
		n.say(m.value.Line, "%s is %s: put it in quotes", what, kindOf(m.value))
	case strings.TrimSpace(m.value.Value) == "":
		n.say(m.value.Line, "%s is empty: give it a value, or leave it out", what)
	default:
		return m.value.Value
	}
	return ""
}

// scalar reads a text, a number or a truth value as it was written.
func (n *mistakeList) scalar(m member, what string) string {
	if m.value == nil {
		return ""
	}
	if m.value.Kind != yaml.ScalarNode || m.value.ShortTag() == "!!null" && m.value.Value != "" {
		n.say(m.value.Line, "%s is %s: make it a text", what, kindOf(m.value))
		return ""
	}
	return m.value.Value
}

// word reads a text out of some.
func (n *mistakeList) word(m member, what string, known []string) string {
	word := n.text(m, what)
	if word != "" && !slices.Contains(known, word) {
		n.say(m.value.Line, "%s is %.60q: %s", what, word, suggestWord(word, known))
		return ""
	}
	return word
}

func (n *mistakeList) truth(m member, what string) bool {
	if m.value == nil {
		return false
	}
	if m.value.Kind != yaml.ScalarNode || m.value.ShortTag() != "!!bool" {
		n.say(m.value.Line, "%s is %s: make it true or false", what, kindOf(m.value))
		return false
	}
	return strings.EqualFold(m.value.Value, "true")
}

// integer reads a whole number from least to most; 0 where there is none.
func (n *mistakeList) integer(m member, what string, least, most int64) int64 {
	if m.value == nil {
		return 0
	}
	number, err := strconv.ParseInt(strings.ReplaceAll(m.value.Value, "_", ""), 10, 64)
	switch {
	case m.value.Kind != yaml.ScalarNode || m.value.ShortTag() != "!!int" || err != nil:
		n.say(m.value.Line, "%s is %s: make it a whole number", what, quoteNode(m.value))
	case number < least || number > most:
		n.say(m.value.Line, "%s is %d: make it a number from %d to %d", what, number, least, most)
	default:
		return number
	}
	return 0
}

// amount reads a number that is not negative.
func (n *mistakeList) amount(m member, what string) float64 {
	if m.value == nil {
		return 0
	}
	tag := m.value.ShortTag()
	number, err := strconv.ParseFloat(m.value.Value, 64)
	switch {
	case m.value.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || err != nil || math.IsNaN(number) || math.IsInf(number, 0):
		n.say(m.value.Line, "%s is %s: make it a number", what, quoteNode(m.value))
	case number < 0:
		n.say(m.value.Line, "%s is %v: make it 0 or more", what, number)
	default:
		return number
	}
	return 0
}

// quoteNode shows a value that is not of the kind it should be.
func quoteNode(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode {
		if len(node.Value) > 60 {
			return strconv.Quote(node.Value[:60])
		}
		return strconv.Quote(node.Value)
	}
	return kindOf(node)
}

func (n *mistakeList) duration(m member, what string) time.Duration {
	if m.value == nil {
		return 0
	}
	took, err := time.ParseDuration(m.value.Value)
	switch {
	case m.value.Kind != yaml.ScalarNode || err != nil:
		n.say(m.value.Line, "%s is %s: write a duration, such as 90s, 5m or 1h30m", what, quoteNode(m.value))
	case took < time.Millisecond || took > maxDuration:
		n.say(m.value.Line, "%s is %s: make it 1ms or more, and at most %s", what, took, maxDuration)
	default:
		return took
	}
	return 0
}

// lined is a text with its line.
type lined struct {
	text string
	line int
}

// list reads a list of texts, each once.
func (n *mistakeList) list(m member, what string, most int) []lined {
	if m.value == nil {
		return nil
	}
	if m.value.Kind != yaml.SequenceNode {
		n.say(m.value.Line, "%s is %s: make it a list, [a, b]", what, kindOf(m.value))
		return nil
	}
	if len(m.value.Content) > most {
		n.say(m.value.Line, "%s has %d entries: at most %d are allowed", what, len(m.value.Content), most)
		return nil
	}
	var all []lined
	seen := map[string]bool{}
	for _, node := range m.value.Content {
		one := n.text(member{value: node}, "an entry of "+what)
		if one == "" {
			continue
		}
		if seen[one] {
			n.say(node.Line, "%.60q appears twice in %s: keep one", one, what)
			continue
		}
		seen[one] = true
		all = append(all, lined{one, node.Line})
	}
	return all
}

func textsOf(list []lined) []string {
	var all []string
	for _, one := range list {
		all = append(all, one.text)
	}
	return all
}

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

// Mistake is one thing that is wrong with a recipe.
type Mistake struct {
	Line int    `json:"line"`
	What string `json:"what"` // and what to do
}

func (m Mistake) String() string { return fmt.Sprintf("line %d: %s", m.Line, m.What) }

// Mistakes are the cause of an INVALID_RECIPE, by line.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	texts := make([]string, 0, len(m))
	for i, one := range m {
		if i == maxMistakes {
			texts = append(texts, fmt.Sprintf("and %d more", len(m)-i))
			break
		}
		texts = append(texts, one.String())
	}
	return strings.Join(texts, "; ")
}

// mistakeList gathers mistakes.
type mistakeList struct{ found Mistakes }

func (n *mistakeList) say(line int, format string, args ...any) {
	// It quotes the file, and a file may hold escape codes.
	n.found = append(n.found, Mistake{max(line, 1), text.Safe(fmt.Sprintf(format, args...))})
}

// fault returns all of them as one, or nothing.
func (n *mistakeList) fault() error {
	if len(n.found) == 0 {
		return nil
	}
	slices.SortFunc(n.found, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return fault.New(fault.InvalidRecipe, "%w", slices.Compact(n.found))
}

func suggestWord(word string, known []string) string {
	if near := text.NearestWord(word, known); near != "" && word != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	switch len(known) {
	case 0:
		return "there are none"
	case 1:
		return "there is only " + known[0]
	}
	if len(known) > 20 {
		known = append(slices.Clone(known[:20]), "…")
	}
	return "there are " + strings.Join(known, ", ")
}
