package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Hook is a command that runs on an event, of the user's file or of the project's (package hook):
//
//	[[hooks]]
//	event = "PreToolUse"
//	matcher = "bash|edit"
//	command = "~/bin/check"
//	timeout = 10        # seconds, or "10s"
//	required = true
type Hook struct {
	Event    string
	Matcher  string
	Command  string
	Timeout  time.Duration // 0: the usual
	Required bool
	Project  bool
	Where    string // file:line
}

const hooksKey = "hooks"

// HookEvents are the events that hooks can name, in the order in which people read them.
var HookEvents = []string{"PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "SessionStart", "Notification",
	"PreCompact", "Fork", "Kill", "Mail", "Interrupted", "RunState"}

// longestHook limits how long a hook may be allowed to take.
const longestHook = time.Hour

// ParseHooks reads the hooks of a configuration file.
func ParseHooks(path, source string, project bool) ([]Hook, error) {
	if !strings.Contains(source, hooksKey) {
		return nil, nil
	}
	var file map[string]toml.Primitive
	meta, err := toml.Decode(source, &file)
	if err != nil {
		return nil, syntaxFault(path, err)
	}
	raw, ok := file[hooksKey]
	if !ok {
		return nil, nil
	}
	where := fmt.Sprintf("%s:%d", path, lineOf(&meta, raw))
	var all []map[string]any
	if meta.PrimitiveDecode(raw, &all) != nil {
		return nil, fault.New(fault.InvalidConfig, "%s: hooks are tables", where).WithHint("[[hooks]], and below it: event = \"…\" and command = \"…\"")
	}
	var out []Hook
	lines := hookLines(source)
	for i, said := range all {
		h := Hook{Project: project, Where: where}
		if len(lines) == len(all) {
			h.Where = fmt.Sprintf("%s:%d", path, lines[i])
		}
		if err := h.take(said); err != nil {
			return nil, fault.New(fault.InvalidConfig, "%s: hook %d: %v", h.Where, i+1, err)
		}
		out = append(out, h)
	}
	return out, nil
}

// hookLines returns the lines that hooks begin in, which the toml package does not tell.
func hookLines(source string) []int {
	var out []int
	n := 0
	for line := range strings.Lines(source) {
		n++
		if strings.HasPrefix(strings.ReplaceAll(line, " ", ""), "[["+hooksKey+"]]") {
			out = append(out, n)
		}
	}
	return out
}

// take reads the members of one hook.
func (h *Hook) take(said map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(said)) {
		set, ok := hookFields[name]
		if !ok {
			known := slices.Sorted(maps.Keys(hookFields))
			if near := text.NearestWord(name, known); near != "" {
				return fmt.Errorf("unknown key %.40q; did you mean %q?", name, near)
			}
			return fmt.Errorf("unknown key %.40q; known keys: %s", name, strings.Join(known, ", "))
		}
		if err := set(h, said[name]); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	switch {
	case h.Event == "":
		return fmt.Errorf("it names no event: %s", strings.Join(HookEvents, ", "))
	case strings.TrimSpace(h.Command) == "":
		return fmt.Errorf("it has no command")
	}
	return nil
}

var hookFields = map[string]func(*Hook, any) error{
	"event": func(h *Hook, x any) error {
		s, _ := x.(string)
		if h.Event = s; !slices.Contains(HookEvents, s) {
			if near := text.NearestWord(s, HookEvents); near != "" {
				return fmt.Errorf("cannot be %.40q; did you mean %q?", s, near)
			}
			return fmt.Errorf("cannot be %.40q; it is one of %s", s, strings.Join(HookEvents, ", "))
		}
		return nil
	},
	"matcher": func(h *Hook, x any) error { return textConfig(&h.Matcher, x) },
	"command": func(h *Hook, x any) error { return textConfig(&h.Command, x) },
	"required": func(h *Hook, x any) error {
		is, ok := x.(bool)
		if h.Required = is; !ok {
			return fmt.Errorf("must be true or false")
		}
		return nil
	},
	"timeout": func(h *Hook, x any) error {
		switch v := x.(type) {
		case int64:
			h.Timeout = time.Duration(min(max(v, -1), 1<<30)) * time.Second
		case float64:
			h.Timeout = time.Duration(min(max(v, -1), 1<<30) * float64(time.Second))
		case string:
			h.Timeout, _ = time.ParseDuration(v)
		}
		if h.Timeout <= 0 || h.Timeout > longestHook {
			return fmt.Errorf("must be seconds, or a time such as \"10s\", of at most %s", longestHook)
		}
		return nil
	},
}
