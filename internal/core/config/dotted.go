package config

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// Settings of two words can be said as a table, as many programs have them: files.shared = true
// is files_shared = "yes".

// dottedEntries returns the entries of such a table; none: it is another one, or no table.
func dottedEntries(meta *toml.MetaData, table string, value toml.Primitive) []entry {
	var parts map[string]toml.Primitive
	if meta.PrimitiveDecode(value, &parts) != nil {
		return nil
	}
	var out []entry
	for _, name := range sortedKeys(parts) {
		key := table + "_" + name
		if _, err := lookupSetting(key); err != nil {
			return nil
		}
		e := entry{key: key, line: lineOf(meta, parts[name])}
		var on bool
		if e.isText = meta.PrimitiveDecode(parts[name], &e.text) == nil; !e.isText && meta.PrimitiveDecode(parts[name], &on) == nil {
			e.isText, e.text = true, map[bool]string{true: "yes", false: "no"}[on]
		}
		out = append(out, e)
	}
	return out
}

// undotted returns the setting that a name with a dot means.
func undotted(key string) string { return strings.ReplaceAll(key, ".", "_") }
