package config

import (
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
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
