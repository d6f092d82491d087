package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/BurntSushi/toml"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
)

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
	"key": func(v *catalog.Vendor, x any) error {
		needs, ok := x.(bool)
		if v.Free = !needs; !ok {
			return fmt.Errorf("must be true or false")
		}
		return nil
	},
	"local": func(v *catalog.Vendor, x any) error {
		ok := false
		if v.Local, ok = x.(bool); !ok {
			return fmt.Errorf("must be true or false")
		}
		return nil
	},
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
