package tui

import (
	"slices"
	"strings"
	"unicode"
)

// QuestionField is one line of text that is being written.
type QuestionField struct {
	text []rune
	at   int
}

// NewQuestionField is a field with a text, and the cursor behind it.
func NewQuestionField(s string) QuestionField {
	f := QuestionField{}
	f.Insert(s)
	return f
}

func (f QuestionField) String() string { return strings.TrimSpace(string(f.text)) }

// Around is the text before the cursor and behind it.
func (f QuestionField) Around() (before, after string) {
	return string(f.text[:f.at]), string(f.text[f.at:])
}

// Insert puts a text at the cursor, on one line.
func (f *QuestionField) Insert(s string) {
	add := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
	f.text = slices.Insert(f.text, f.at, add...)
	f.at += len(add)
}

// key takes a key; false: it means nothing here.
func (f *QuestionField) key(k QuestionKey) bool {
	switch k.Name {
	case "backspace", "shift+backspace":
		if f.at > 0 {
			f.text = slices.Delete(f.text, f.at-1, f.at)
			f.at--
		}
	case "delete":
		if f.at < len(f.text) {
			f.text = slices.Delete(f.text, f.at, f.at+1)
		}
	case "left", "ctrl+b":
		f.at = max(0, f.at-1)
	case "right":
		f.at = min(len(f.text), f.at+1)
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.text)
	case "ctrl+u":
		f.text, f.at = slices.Clone(f.text[f.at:]), 0
	case "ctrl+k":
		f.text = f.text[:f.at]
	case "up", "down", "tab":
	default:
		if k.Text == "" {
			return false
		}
		f.Insert(k.Text)
	}
	return true
}
