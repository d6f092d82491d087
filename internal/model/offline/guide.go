package offline

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// GuideTopic is something that one can ask about.
type GuideTopic struct {
	Title string
	Words string // those that point at it, in small letters; those joined by + count only together, one that appears twice counts twice
	Text  string // one or two sentences
	Type  string // what to type, in back-quotes, with a word about each
}

// GuideTopics lists them.
func GuideTopics() []GuideTopic { return topics }

// AsksTopic reports whether a text is a question, and no order.
func AsksTopic(said string) bool {
	words := fields(said)
	if len(words) == 0 {
		return false
	}
	if strings.HasSuffix(strings.TrimSpace(said), "?") {
		return true
	}
	return askers()[words[0]] || slices.Contains(words, "how")
}

// MeantTopic answers a text that nobody could carry out: a question, or so few words that they are
// meant as one, such as undo.
func MeantTopic(said string) (answer string, ok bool) {
	const few = 3
	if !AsksTopic(said) && len(fields(said)) > few {
		return "", false
	}
	return AnswerTopic(said)
}

var askers = sync.OnceValue(func() map[string]bool {
	return set("how what where why who whom which when can could may is are does do did should help explain tell i")
})

// AnswerTopic returns the topic that has most of the words of a question; a rare word counts for more, and
// of equal ones the first has it. The title of the answer is its first line.
func AnswerTopic(question string) (answer string, ok bool) {
	asked := map[string]bool{}
	for _, w := range fields(question) {
		asked[w], asked[stem(w)] = true, true
	}
	best, most := GuideTopic{}, 0.0
	for _, t := range topics {
		if n := t.score(asked); n > most {
			best, most = t, n
		}
	}
	return best.Title + ". " + best.Text + "\n\n" + best.Type, most > 0
}

// score counts the words of a topic that were asked for.
func (t GuideTopic) score(asked map[string]bool) float64 {
	n := 0.0
	for _, w := range strings.Fields(t.Words) {
		has, parts := true, strings.Split(w, "+")
		for _, p := range parts {
			has = has && (asked[p] || asked[stem(p)])
		}
		if has {
			n += float64(2*len(parts)-1) / shared(w)
		}
	}
	return n
}

// shared returns how many topics a word points at.
func shared(word string) float64 {
	n := 0
	for _, t := range topics {
		for _, w := range strings.Fields(t.Words) {
			if w == word {
				n++
				break
			}
		}
	}
	return float64(max(n, 1))
}

// fields returns the words of a text, in small letters, without signs.
func fields(s string) []string {
	const longest = 4 << 10
	if len(s) > longest {
		s = s[:longest]
	}
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}

// stem takes the usual endings off a word: agents, killed, running.
func stem(w string) string {
	for _, end := range []string{"ting", "ning", "ing", "ies", "ed", "es", "s", "e", "y"} {
		if root, ok := strings.CutSuffix(w, end); ok && len(root) >= 3 {
			return root
		}
	}
	return w
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
