package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
)

// SettingsFiles are the files of a project that name hooks in the other program's form.
var SettingsFiles = []string{".claude/settings.json", ".claude/settings.local.json"}

// ParseSettings reads the hooks of such a file. Whatever else stands in it is not read; an event
// that does not happen here, and a kind of hook that is none of a command, is a note.
func ParseSettings(from string, data []byte) (hooks []Hook, notes []string, err error) {
	var file struct {
		Off   bool                       `json:"disableAllHooks"`
		Hooks map[string]json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, fault.New(fault.InvalidConfig, "%s: hooks are not readable: %v", from, err).WithHint("the file is JSON")
	}
	if file.Off {
		return nil, nil, nil
	}
	var unknown []string
	for name := range file.Hooks {
		if !slices.Contains(Theirs, Event(name)) {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		notes = append(notes, from+": no such event happens here: "+strings.Join(unknown, ", "))
	}
	for _, event := range Theirs { // in one order, whatever the file's is
		raw, ok := file.Hooks[string(event)]
		if !ok {
			continue
		}
		found, said, err := parseGroups(from, event, raw)
		if err != nil {
			return nil, nil, err
		}
		hooks, notes = append(hooks, found...), append(notes, said...)
	}
	return hooks, notes, nil
}

func parseGroups(from string, event Event, raw json.RawMessage) (hooks []Hook, notes []string, err error) {
	var groups []struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type    string  `json:"type"`
			Command string  `json:"command"`
			Timeout float64 `json:"timeout"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		return nil, nil, fault.New(fault.InvalidConfig, "%s: hooks of %s are not readable: %v", from, event, err).
			WithHint(`a list of {"matcher": …, "hooks": [{"type": "command", "command": …}]}`)
	}
	for _, g := range groups {
		for _, one := range g.Hooks {
			switch {
			case one.Type != "command":
				notes = append(notes, fmt.Sprintf("%s: a hook of %s is of type %.40q: only commands run here", from, event, one.Type))
			case strings.TrimSpace(one.Command) == "":
				notes = append(notes, fmt.Sprintf("%s: a hook of %s has no command", from, event))
			default:
				h := Hook{Event: event, Matcher: g.Matcher, Command: one.Command, Theirs: true, From: from}
				if one.Timeout > 0 {
					h.Timeout = time.Duration(min(one.Timeout, 3600) * float64(time.Second))
				}
				hooks = append(hooks, h)
			}
		}
	}
	return hooks, notes, nil
}
