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
	"ramet/internal/model/catalog"
)

// Driver describes what the user says of a program that drives agents: the table [driver.NAME] of the
// configuration. Of one that ramet knows it changes what it names.
type Driver struct {
	Name    string            `toml:"-"`
	Project bool              `toml:"-"`                 // a project's, which a person accepted; it runs confined
	Command string            `toml:"command,omitempty"` // a program that speaks the Agent Client Protocol
	Args    []string          `toml:"args,omitempty"`
	Env     map[string]string `toml:"env,omitempty"`   // variables that it gets besides the usual ones; $NAME in a value stands for the user's
	Mode    string            `toml:"mode,omitempty"`  // that its sessions are put into
	State   []string          `toml:"state,omitempty"` // folders of its own that it may write when it is confined
	Login   string            `toml:"login,omitempty"` // the command with which its user logs in
	Asks    *bool             `toml:"asks,omitempty"`  // in that mode it asks before it changes anything
	Box     *bool             `toml:"box,omitempty"`   // it runs confined; nil: if it does not ask
	Off     bool              `toml:"off,omitempty"`   // it is not used

	// Bases are the variables that hold addresses of vendors, with the vendor and what the program
	// expects behind its address: openai/v1. What it spends there is counted on the way, unless
	// Gateway is false. Key: ramet's own key of the vendor is put in.
	Bases   map[string]string `toml:"bases,omitempty"`
	Gateway *bool             `toml:"gateway,omitempty"`
	Key     bool              `toml:"key,omitempty"`
}

const driversKey = "driver"

var driverName = text.Regexp(`^[a-z][a-z0-9_-]{0,31}$`)

// CheckDriverName refuses what is no name of a driver.
func CheckDriverName(name string) error {
	if driverName().MatchString(name) && name != "ramet" {
		return nil
	}
	return fault.New(fault.InvalidConfig, "%.80q is not a name of a driver", name).
		WithHint("use a-z 0-9 - _, at most 32; ramet is its own")
}

// Check refuses what could not be started.
func (d Driver) Check() error {
	if err := CheckDriverName(d.Name); err != nil {
		return err
	}
	wrong := func(format string, args ...any) *fault.Error {
		return fault.New(fault.InvalidConfig, "driver %s: "+format, append([]any{d.Name}, args...)...)
	}
	if d.Command == "" && len(d.Args) > 0 {
		return wrong("args go with a command")
	}
	if err := checkWords(slices.Concat([]string{d.Command, d.Mode, d.Login}, d.Args, d.State), d.Env, d.Bases); err != nil {
		return wrong("%w", err)
	}
	for name, vendor := range d.Bases {
		if vendor, _, _ = strings.Cut(vendor, "/"); !slices.Contains(wireVendors, vendor) {
			return wrong("bases: %s names no vendor that programs can be counted at: %.80q", name, vendor).
				WithHint("known: %s; with what the program expects behind the address, as in openai/v1", strings.Join(wireVendors, ", "))
		}
	}
	for _, s := range d.State {
		if !strings.HasPrefix(s, "~/") && !strings.HasPrefix(s, "/") {
			return wrong("state can't contain %.80q", s).WithHint("name it from the root, or from your home (~/…)")
		}
	}
	return nil
}

// wireVendors are those whose endpoints ramet can are in front of.
var wireVendors = []string{"anthropic", "openai", "gemini"}

// ParseDrivers reads the drivers of a file's text.
func ParseDrivers(path, content string, layer Layer) ([]Driver, error) {
	var c Config
	err := c.addDrivers(path, content, layer)
	return c.Drivers, err
}

// addDrivers reads the drivers of a file: the user's, or a project's that a person accepted.
func (c *Config) addDrivers(path, content string, layer Layer) error {
	return parseTables(path, content, driversKey, "driver", func(name, where string, decode func(any) error) error {
		d := Driver{Name: name}
		if err := decode(&d); err != nil {
			return err
		}
		if err := d.Check(); err != nil {
			return atPlace(where, err)
		}
		if d.Project = layer == Project; d.Project {
			if d.Box != nil && !*d.Box || d.Key {
				return fault.New(fault.InvalidConfig, "%s: a project's driver runs confined, and with a login of its own: %s", where, name).
					WithHint("box = false and key = true go into your own configuration")
			}
			if slices.ContainsFunc(c.Drivers, func(own Driver) bool { return own.Name == name }) {
				return nil // what the user says counts more
			}
			boxed := true
			d.Box = &boxed
		}
		c.Drivers = append(c.Drivers, d)
		return nil
	})
}

// vendorsKey is the table of the user's vendors; each is a table in it:
//
//	[vendors.mistral]
//	base = "https://api.mistral.ai/v1"
const vendorsKey = "vendors"

// vendorFields lists what an entry may say, by name.
var vendorFields = map[string]func(*catalog.Vendor, any) error{
	"base":          func(v *catalog.Vendor, x any) error { return textConfig(&v.Base, x) },
	"title":         func(v *catalog.Vendor, x any) error { return textConfig(&v.Title, x) },
	"token_command": func(v *catalog.Vendor, x any) error { return textConfig(&v.TokenCommand, x) },
	"project":       func(v *catalog.Vendor, x any) error { return textConfig(&v.Project, x) },
	"location":      func(v *catalog.Vendor, x any) error { return textConfig(&v.Location, x) },
	"header":        func(v *catalog.Vendor, x any) error { return textConfig(&v.Header, x) },
	"thoughts":      func(v *catalog.Vendor, x any) error { return oneOf(&v.Thoughts, x, "reasoning", "reasoning_content") },
	"schemas":       func(v *catalog.Vendor, x any) error { return oneOf(&v.Forms, x, "schema", "apart", "object", "none") },
	"protocol": func(v *catalog.Vendor, x any) error {
		return oneOf((*string)(&v.Protocol), x, string(catalog.Chat), string(catalog.Responses), string(catalog.Anthropic), string(catalog.Gemini))
	},
	"local": func(v *catalog.Vendor, x any) error { return boolConfig(&v.Local, x) },
	"key": func(v *catalog.Vendor, x any) error {
		needs := false
		err := boolConfig(&needs, x)
		v.Free = !needs
		return err
	},
}

func boolConfig(to *bool, x any) error {
	is, ok := x.(bool)
	if *to = is; !ok {
		return fmt.Errorf("must be true or false")
	}
	return nil
}

func textConfig(to *string, x any) error {
	s, ok := x.(string)
	if *to = s; !ok || s == "" {
		return fmt.Errorf("must be a text in quotes")
	}
	return nil
}

func oneOf(to *string, x any, allowed ...string) error {
	s, _ := x.(string)
	if *to = s; !slices.Contains(allowed, s) {
		return fmt.Errorf("must be one of %v", allowed)
	}
	return nil
}

// addVendors reads the user's vendors.
func (c *Config) addVendors(path, source string, layer Layer, e entry) error {
	if layer == Project {
		return fault.New(fault.InvalidConfig, "%s: a project may not set %s", e.where(path), vendorsKey).
			WithHint("they say where keys and data go: put them into your own configuration")
	}
	shape := fault.New(fault.InvalidConfig, "%s: %s must be a table of vendors", e.where(path), vendorsKey).
		WithHint("[vendors.NAME], and below it: base = \"https://…\"")
	var file map[string]any
	if _, err := toml.Decode(source, &file); err != nil {
		return syntaxFault(path, err)
	}
	all, ok := file[vendorsKey].(map[string]any)
	if !ok {
		return shape
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		said, ok := all[name].(map[string]any)
		if !ok {
			return shape
		}
		v := catalog.Vendor{Name: name}
		for _, field := range slices.Sorted(maps.Keys(said)) {
			set, known := vendorFields[field]
			if !known {
				fields := slices.Sorted(maps.Keys(vendorFields))
				hint := text.NearestHint(field, fields, fmt.Sprintf("known: %v", fields))
				return fault.New(fault.InvalidConfig, "%s: vendor %.40s has no %.40q", e.where(path), name, field).WithHint("%s", hint)
			}
			if err := set(&v, said[field]); err != nil {
				return fault.New(fault.InvalidConfig, "%s: vendor %.40s: %s %w", e.where(path), name, field, err)
			}
		}
		if err := catalog.CheckUser(v); err != nil {
			return atPlace(e.where(path), err)
		}
		c.Vendors = append(c.Vendors, v)
	}
	return nil
}

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
	"matcher":  func(h *Hook, x any) error { return textConfig(&h.Matcher, x) },
	"command":  func(h *Hook, x any) error { return textConfig(&h.Command, x) },
	"required": func(h *Hook, x any) error { return boolConfig(&h.Required, x) },
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
