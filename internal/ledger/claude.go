package ledger

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"ramet/internal/base/fault"
)

// ClaudeHook is the part of our command line by which our hooks are known.
const ClaudeHook = "track hook claude-code"

// seconds that a hook may take.
const seconds = 30

// events lists the events of our hooks, with the tools that they are about.
var events = []struct{ name, matcher string }{
	{"SubagentStart", ""},
	{"SubagentStop", ""},
	{"PostToolUseFailure", "Task|Agent"},
	{"SessionStart", "startup|resume"},
	{"SessionEnd", ""},
}

// InstallClaudeHook adds our hooks to a settings file, which may be empty, in place of older ones of ours.
func InstallClaudeHook(settings []byte, command string) ([]byte, error) {
	root, hooks, err := readSettings(settings)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		groups, _, err := withoutOurs(hooks, e.name)
		if err != nil {
			return nil, err
		}
		hooks.Set(e.name, AppendJSONList(nil, append(groups, makeGroup(e.matcher, command)), 2))
	}
	root.Set("hooks", hooks.Append(nil, 1))
	return append(root.Append(nil, 0), '\n'), nil
}

// UninstallClaudeHook removes our hooks, and the lists and objects that are empty without them. changed is false if
// there were none.
func UninstallClaudeHook(settings []byte) (out []byte, changed bool, err error) {
	root, hooks, err := readSettings(settings)
	if err != nil {
		return nil, false, err
	}
	for _, m := range slices.Clone(hooks.Members) {
		if raw, _ := hooks.Get(m.Key); !mine().Match(raw) {
			continue
		}
		groups, found, err := withoutOurs(hooks, m.Key)
		if err != nil {
			return nil, false, err
		}
		if !found {
			continue // a mention, no hook
		}
		changed = true
		if len(groups) == 0 {
			hooks.Delete(m.Key)
		} else {
			hooks.Set(m.Key, AppendJSONList(nil, groups, 2))
		}
	}
	if !changed {
		return settings, false, nil
	}
	if len(hooks.Members) == 0 {
		root.Delete("hooks")
	} else {
		root.Set("hooks", hooks.Append(nil, 1))
	}
	return append(root.Append(nil, 0), '\n'), true, nil
}

var mine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(regexp.QuoteMeta(ClaudeHook) + `\b`) })

// readSettings reads a settings file and its hooks.
func readSettings(settings []byte) (root, hooks Object, err error) {
	if len(settings) == 0 {
		return root, hooks, nil
	}
	if root, err = ParseObject(settings); err != nil {
		return root, hooks, settingsFault("the file", err)
	}
	raw, ok := root.Get("hooks")
	if !ok || string(raw) == "null" {
		return root, hooks, nil
	}
	if hooks, err = ObjectOf(raw); err != nil {
		return root, hooks, settingsFault("hooks", err)
	}
	return root, hooks, nil
}

func settingsFault(where string, err error) error {
	return fault.New(fault.InvalidConfig, "read settings of Claude Code: %s: %w", where, err).
		WithHint("repair the file; nothing was changed")
}

// withoutOurs returns the groups of an event without our commands, and reports whether there were any. A group without
// our commands stays unchanged.
func withoutOurs(hooks Object, event string) (kept [][]byte, found bool, err error) {
	raw, ok := hooks.Get(event)
	if !ok || string(raw) == "null" {
		return nil, false, nil
	}
	groups, err := ParseJSONList(raw)
	if err != nil {
		return nil, false, settingsFault("hooks."+event, err)
	}
	for _, g := range groups {
		o, err := ObjectOf(g)
		if err != nil {
			kept = append(kept, g)
			continue
		}
		rest, ours := otherHooks(o)
		switch {
		case !ours:
			kept = append(kept, g)
		case len(rest) > 0:
			o.Set("hooks", AppendJSONList(nil, rest, 4))
			kept = append(kept, o.Append(nil, 3))
		}
		found = found || ours
	}
	return kept, found, nil
}

// otherHooks returns the commands of a group that are not ours, and whether there was one of ours.
func otherHooks(group Object) (rest [][]byte, ours bool) {
	raw, _ := group.Get("hooks")
	list, err := ParseJSONList(raw)
	if err != nil {
		return nil, false
	}
	n := len(list)
	rest = slices.DeleteFunc(list, func(h []byte) bool {
		o, _ := ObjectOf(h)
		raw, _ := o.Get("command")
		command, ok := ParseJSONText(raw)
		return ok && mine().MatchString(command)
	})
	return rest, len(rest) < n
}

// makeGroup returns one element of an event's list.
func makeGroup(matcher, command string) []byte {
	hook := Object{Members: []Member{
		{Key: "type", Raw: QuoteJSON("command")},
		{Key: "command", Raw: QuoteJSON(command)},
		{Key: "timeout", Raw: strconv.AppendInt(nil, seconds, 10)},
	}}
	var o Object
	if matcher != "" {
		o.Set("matcher", QuoteJSON(matcher))
	}
	o.Set("hooks", AppendJSONList(nil, [][]byte{hook.Append(nil, 5)}, 4))
	return o.Append(nil, 3)
}

// ClaudeInput holds the part of a hook's input that the ledger needs.
type ClaudeInput struct {
	Event       string `json:"hook_event_name"`
	Session     string `json:"session_id"`
	Cwd         string `json:"cwd"`
	AgentID     string `json:"agent_id"`
	AgentType   string `json:"agent_type"`
	Transcript  string `json:"agent_transcript_path"`
	Prompt      string `json:"prompt"`       // of a sub-agent; may be empty
	Reason      string `json:"reason"`       // why a session ended
	Source      string `json:"source"`       // how a session started
	Tool        string `json:"tool_name"`    // that failed
	Error       string `json:"error"`        // of that tool
	IsInterrupt bool   `json:"is_interrupt"` // the user stopped it
	ToolInput   struct {
		Type string `json:"subagent_type"`
	} `json:"tool_input"`
}

// ParseClaudeInput reads the input of a hook. Unknown fields are ignored; a field of another type than documented is
// an error.
func ParseClaudeInput(data []byte) (ClaudeInput, error) {
	var in ClaudeInput
	err := json.Unmarshal(data, &in)
	if err == nil && in.Event == "" {
		err = errors.New("there is no hook_event_name")
	}
	if err != nil {
		return in, fault.New(fault.InvalidText, "read hook input: %w", err).
			WithHint("this command is for Claude Code, which gives it JSON on standard input")
	}
	return in, nil
}
