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
	at, last, _, err := b.inside(env)
	address, _ := at[last].(string)
	return address, err
}

// Point is the variable that points the program at an address.
func (b PresetBase) Point(env []string, address string) (string, error) {
	if !b.Codex && b.In == "" {
		return b.Variable + "=" + address, nil
	}
	at, last, whole, err := b.inside(env)
	if err != nil {
		return "", err
	}
	at[last] = address
	if last == "base_url" {
		at["supports_websockets"] = false
	}
	text, err := json.Marshal(whole)
	return b.Variable + "=" + string(text), err
}

// inside returns the configuration that the variable holds, the object of it that holds the address, and the
// address's name in that; objects that are lacking are made.
func (b PresetBase) inside(env []string) (at map[string]any, last string, whole map[string]any, err error) {
	whole = map[string]any{}
	if text := lookup(env, b.Variable); text != "" {
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			return nil, "", nil, fault.New(fault.InvalidConfig, "%s is not an object in JSON: %w", b.Variable, err)
		}
	}
	names := strings.Split(b.In, ".")
	if b.Codex {
		names = []string{"openai_base_url"}
		if provider, _ := whole["model_provider"].(string); provider != "" && provider != "openai" { // that the user chose
			names = []string{"model_providers", provider, "base_url"}
		}
	}
	at = whole
	for _, name := range names[:len(names)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	return at, names[len(names)-1], whole, nil
}
