package prose

import (
	"strconv"
	"strings"

	"ramet/internal/tool/fetch/markup"
)

// list writes items. One that stands in an item follows its text without an empty line.
func (w *writer) list(n *markup.Node) {
	if last := len(w.boxes) - 1; last >= 0 && w.boxes[last].used && !strings.HasPrefix(w.boxes[last].rest, ">") {
		w.tight = true
	}
	number, begun, wide := numberOf(n, "start", 1), false, 0
	for c := n.First; c != nil; c = c.Next {
		bullet := "- "
		switch {
		case c.Name == "" && strings.Trim(spaces(c.Text), " \n\t\f\r") == "", Skipped(c), !begun && lists(c.Name):
			w.node(c)
			continue
		case lists(c.Name): // it belongs to the item before
			bullet = strings.Repeat(" ", wide)
		case n.Name == "ol":
			number = numberOf(c, "value", number)
			w.tight = w.tight && (begun || number == 1) // only the first number is read as one just behind text
			bullet = strconv.Itoa(number) + ". "
			number++
		}
		wide = len(bullet)
		w.flush()
		w.tight = w.tight || begun
		before := len(w.out)
		w.enter(bullet, strings.Repeat(" ", len(bullet)))
		w.node(c)
		w.flush()
		w.leave()
		begun = begun || len(w.out) > before
	}
	w.flush()
	w.tight = false
}

func lists(name string) bool { return name == "ul" || name == "ol" }

// numberOf is a number that an attribute says, where Markdown can say it too.
func numberOf(n *markup.Node, key string, otherwise int) int {
	if s, ok := n.Get(key); ok {
		if number, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && number >= 0 && number < 1e9 {
			return number
		}
	}
	return otherwise
}
