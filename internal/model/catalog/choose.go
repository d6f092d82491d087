package catalog

import (
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// Choose decides which model is meant: the one that was asked for, else the
// default of the first vendor that is usable, else the one that is built in.
func Choose(asked string, usable func(Vendor) bool) (llm.Ref, error) {
	if asked != "" {
		ref, err := Parse(asked)
		if err != nil {
			return llm.Ref{}, err
		}
		_, err = Find(ref.Vendor)
		return ref, err
	}
	for _, v := range Vendors() {
		if v.Named || !v.BuiltIn && !usable(v) {
			continue // its table, which may be long, is not read
		}
		if name := v.Table().Default; name != "" {
			return llm.Ref{Vendor: v.Name, Name: name}, nil
		}
	}
	panic("catalog: no model is built in")
}

// Parse reads what a person calls a model: vendor/name. One who leaves the vendor out, or names
// nothing but a vendor, is told what was probably meant.
func Parse(said string) (llm.Ref, error) {
	ref, err := llm.ParseRef(said)
	f, ok := fault.Of(err)
	if !ok {
		return ref, err
	}
	var words []string
	full := map[string]string{} // by what may be said for it
	for _, v := range Vendors() {
		for _, m := range v.Table().Models {
			for _, word := range []string{v.Name + "/" + m.Name, m.Name} {
				if full[word] == "" {
					words, full[word] = append(words, word), v.Name+"/"+m.Name
				}
			}
		}
		if usual := v.Table().Default; usual != "" && full[v.Name] == "" {
			words, full[v.Name] = append(words, v.Name), v.Name+"/"+usual
		}
	}
	if near := text.NearestWord(strings.ToLower(said), words); near != "" && said != "" {
		return ref, f.WithHint("did you mean %q?", full[near])
	}
	return ref, err
}
