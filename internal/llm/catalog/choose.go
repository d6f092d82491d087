package catalog

import (
	"ramet/internal/fault"
	"ramet/internal/llm"
)

// Choose decides which model is meant: the one that was asked for, else the
// default of the first vendor that is usable. Without either it is NOT_FOUND,
// with what to do.
func Choose(asked string, usable func(Vendor) bool) (llm.Ref, error) {
	if asked != "" {
		ref, err := llm.ParseRef(asked)
		if err != nil {
			return llm.Ref{}, err
		}
		_, err = Find(ref.Vendor)
		return ref, err
	}
	for _, v := range vendors {
		if name := v.Table().Default; name != "" && usable(v) {
			return llm.Ref{Vendor: v.Name, Name: name}, nil
		}
	}
	return llm.Ref{}, fault.New(fault.NotFound, "no model is configured").
		WithHint("set a key with `ramet auth set VENDOR`, or choose with `ramet config set model VENDOR/NAME`")
}
