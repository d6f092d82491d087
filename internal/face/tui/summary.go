package tui

import (
	"encoding/json"
	"slices"
	"strings"
)

// telling are the arguments that say best what a call does, in this order.
var telling = []string{"command", "path", "pattern", "prompt", "to", "agent", "query", "result"}

// summary is one line about the arguments of a call.
func summary(tool string, args json.RawMessage) string {
	var m map[string]any
	if json.Unmarshal(args, &m) != nil {
		return string(args)
	}
	switch tool {
	case "plan":
		return "" // the list says it
	case "ask":
		said, _ := m["question"].(string)
		return said
	}
	var parts []string
	take := func(name string) {
		v, ok := m[name]
		if !ok {
			return
		}
		delete(m, name)
		s, isText := v.(string)
		if !isText {
			b, _ := json.Marshal(v)
			s = name + "=" + string(b)
		} else if len(parts) > 0 && !slices.Contains(telling[:3], name) {
			s = name + "=" + s
		}
		parts = append(parts, s)
	}
	for _, name := range telling {
		take(name)
	}
	if len(parts) > 0 && (tool == "write" || tool == "edit") {
		return strings.Join(parts, " ") // the diff says the rest
	}
	var rest []string
	for name := range m {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		take(name)
	}
	return strings.Join(parts, " ")
}
