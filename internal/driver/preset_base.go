package driver

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/fault"
)

// PresetBase is how a program is told another address of a vendor's API: so that what it spends can be
// counted on the way.
type PresetBase struct {
	Variable string // that holds the address
	Codex    bool   // it holds Codex's configuration, in JSON, of which the address is a part
	In       string // it holds an object in JSON, in which the address is found by these names, with dots between; empty: it holds the address
	Vendor   string // as the table of models calls it
	Path     string // that the program expects behind the address
	Key      string // the variable that holds a key of the vendor; empty: not known
}

// bases are those that a user's configuration names: a variable, and the vendor with what the
// program expects behind its address.
func bases(own map[string]string) []PresetBase {
	var out []PresetBase
	for _, name := range slices.Sorted(maps.Keys(own)) {
		vendor, path, _ := strings.Cut(own[name], "/")
		b := PresetBase{Variable: name, Vendor: vendor}
		if path != "" {
			b.Path = "/" + path
		}
		out = append(out, b)
	}
	return out
}

// Address is where the environment points the program; empty: at the vendor's own.
func (b PresetBase) Address(env []string) (string, error) {
	if !b.Codex && b.In == "" {
		return lookup(env, b.Variable), nil
	}
	c, err := b.config(env)
	if err != nil {
		return "", err
	}
	if b.In != "" {
		at, last := b.inside(c)
		address, _ := at[last].(string)
		return address, nil
	}
	address, _ := c.place()["base_url"].(string)
	if c.provider() == "" {
		address, _ = c["openai_base_url"].(string)
	}
	return address, nil
}

// Point is the variable that points the program at an address.
func (b PresetBase) Point(env []string, address string) (string, error) {
	if !b.Codex && b.In == "" {
		return b.Variable + "=" + address, nil
	}
	c, err := b.config(env)
	if err != nil {
		return "", err
	}
	switch {
	case b.In != "":
		at, last := b.inside(c)
		at[last] = address
	case c.provider() == "":
		c["openai_base_url"] = address
	default:
		at := c.place()
		at["base_url"], at["supports_websockets"] = address, false
	}
	text, err := json.Marshal(c)
	return b.Variable + "=" + string(text), err
}

// codexConfig is what a user set of Codex's configuration.
type codexConfig map[string]any

func (b PresetBase) config(env []string) (codexConfig, error) {
	out := codexConfig{}
	if text := lookup(env, b.Variable); text != "" {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			return nil, fault.New(fault.InvalidConfig, "%s is no object in JSON: %w", b.Variable, err)
		}
	}
	return out, nil
}

// inside is the object of a configuration that holds the address, and the address's name in it; objects
// that are lacking are made.
func (b PresetBase) inside(c map[string]any) (at map[string]any, last string) {
	names := strings.Split(b.In, ".")
	at = c
	for _, name := range names[:len(names)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	return at, names[len(names)-1]
}

// provider is the one that the user chose instead of the usual one.
func (c codexConfig) provider() string {
	name, _ := c["model_provider"].(string)
	if name == "openai" {
		return ""
	}
	return name
}

// place is where the chosen provider stands; it is made where it is lacking.
func (c codexConfig) place() map[string]any {
	all, ok := c["model_providers"].(map[string]any)
	if !ok {
		all = map[string]any{}
		c["model_providers"] = all
	}
	one, ok := all[c.provider()].(map[string]any)
	if !ok {
		one = map[string]any{}
		all[c.provider()] = one
	}
	return one
}
