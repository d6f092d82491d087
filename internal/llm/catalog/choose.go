package catalog

import "ramet/internal/llm"

// Choose decides which model is meant: the one that was asked for, else the
// default of the first vendor that is usable, else the one that is built in.
func Choose(asked string, usable func(Vendor) bool) (llm.Ref, error) {
	if asked != "" {
		ref, err := llm.ParseRef(asked)
		if err != nil {
			return llm.Ref{}, err
		}
		_, err = Find(ref.Vendor)
		return ref, err
	}
	for _, v := range Vendors() {
		if name := v.Table().Default; name != "" && !v.Named && (v.BuiltIn || usable(v)) {
			return llm.Ref{Vendor: v.Name, Name: name}, nil
		}
	}
	panic("catalog: no model is built in")
}
