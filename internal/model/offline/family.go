package offline

import (
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
)

// strangers limits how many letters of others are read while waiting for children.
const strangers = 8

// agentID is an id as results tell it.
var agentID = text.Regexp(`\b[A-Za-z0-9][A-Za-z0-9_-]{21}\b`)

// fork forks, and waits for what the children have to say.
func (w *work) fork(s step) bool {
	out, ok := w.do(s.calls...)
	if !ok {
		return false
	}
	var children []id.Agent // those that were not heard of; empty: nobody knows its id
	for _, o := range out {
		who := agentID().FindString(o.text)
		switch {
		case o.failed:
			w.tell(o)
			continue
		case strings.Contains(strings.ToLower(o.text), "you are the child"):
			w.say("I am the child, and was told nothing else.")
			return true
		case who != "":
			w.say("%s: it is %s.", past(o.act), showName(who))
		default:
			w.tell(o)
		}
		children = append(children, id.Agent(who))
	}
	if s.leave {
		return true
	}
	return w.hear(children)
}

// hear waits until each child has written.
func (w *work) hear(children []id.Agent) bool {
	all := len(children)
	for others := 0; len(children) > 0; {
		heads, ok := w.letters(call{tool: "wait", args: map[string]any{}, act: "wait for the children's mail"})
		if !ok {
			return false
		}
		if len(heads) == 0 || others >= strangers {
			w.say("Of %d children, %d have reported. Mail of the others can be read later.", all, all-len(children))
			return true
		}
		for _, head := range heads {
			if who := sender(head, children); who < 0 {
				others++
			} else {
				children = append(children[:who:who], children[who+1:]...)
			}
		}
	}
	return true
}

// sender is which of the children wrote a letter: its first line tells. One whose
// id is not known may have written any.
func sender(letter string, children []id.Agent) int {
	first, _, _ := strings.Cut(letter, "\n")
	for i, c := range children {
		if c != "" && strings.Contains(first, c.Short()) {
			return i
		}
	}
	for i, c := range children {
		if c == "" {
			return i
		}
	}
	return -1
}
