package session

import (
	"strings"
	"unicode"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// FormatCommand takes a text apart that calls a command by its name: a slash, the name, and what follows
// behind white space. ok is false for every other text. One that begins with white space calls
// nothing: that is how a slash is said.
func FormatCommand(said string) (name, rest string, ok bool) {
	after, ok := strings.CutPrefix(said, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(after, unicode.IsSpace)
	if end < 0 {
		end = len(after)
	}
	return after[:end], strings.TrimSpace(after[end:]), end > 0
}

// IsCommandName reports whether the word after a slash can only be meant as the name of a command. A path
// (/etc/hosts), a comment (/* so */), an expression (/x+/) are none: such a text is meant as it
// stands.
func IsCommandName(word string) bool {
	for i, r := range word {
		if !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("_-.:", r)) {
			return false
		}
	}
	return word != ""
}

// UnknownCommand refuses a call of a name that is none of the known ones, and says which are near.
func UnknownCommand(name string, known []string) *fault.Error {
	e := fault.New(fault.Usage, "unknown command /%s", show(name))
	const asItStands = "to send it as text, start with a space"
	near := text.NearestWords(strings.ToLower(name), known, 3)
	for _, k := range known { // of a folder or a server, whose name was left out
		if len(near) == 0 && strings.HasSuffix(strings.ToLower(k), ":"+strings.ToLower(name)) {
			near = append(near, k)
		}
	}
	if len(near) == 0 {
		return e.WithHint("%s", asItStands)
	}
	for i, k := range near {
		near[i] = "/" + show(k)
	}
	return e.WithHint("did you mean %s? %s", strings.Join(near, " or "), asItStands)
}
