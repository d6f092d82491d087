package recipe

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
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
