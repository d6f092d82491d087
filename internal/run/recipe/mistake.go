package recipe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

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

// fault is all of them as one, or nothing.
func (n *mistakeList) fault() error {
	if len(n.found) == 0 {
		return nil
	}
	slices.SortFunc(n.found, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return fault.New(fault.InvalidRecipe, "%w", slices.Compact(n.found))
}

// suggestWord suggests a known word for one that is not known.
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
