package llm

import (
	"slices"
	"strings"
	"unicode"

	"ramet/internal/fault"
)

// Ref names a model: the vendor it is asked at, and the vendor's name for it.
type Ref struct{ Vendor, Name string }

// String is vendor/name.
func (r Ref) String() string { return r.Vendor + "/" + r.Name }

// ParseRef reads vendor/name. The name may hold further slashes.
func ParseRef(s string) (Ref, error) {
	vendor, name, ok := strings.Cut(s, "/")
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if !ok || vendor == "" || name == "" || strings.ContainsFunc(s, odd) {
		return Ref{}, fault.New(fault.InvalidConfig, "%.80q names no model", s).
			WithHint("write vendor/name; `ramet models` lists them")
	}
	return Ref{strings.ToLower(vendor), name}, nil
}

// Model is what is known about a model.
type Model struct {
	Name    string   `json:"name"`              // the vendor's name for it
	Title   string   `json:"title"`             // for people
	Price   Price    `json:"price"`             // zero where it costs nothing or nobody knows
	Context int64    `json:"context"`           // tokens it can read and write in all; 0: unknown
	Output  int64    `json:"output"`            // tokens of one answer; 0: unknown
	Thinks  bool     `json:"thinks"`            // it can be told to think
	Efforts []string `json:"efforts,omitempty"` // the vendor's words for how hard
	Images  bool     `json:"images"`            // it can read images
}

// Nearest is the model's own word for an effort, or "" where it has none.
func (m Model) Nearest(e Effort) string {
	choices := map[Effort][]string{
		Low:    {"low", "minimal", "medium", "high"},
		Medium: {"medium", "high", "low"},
		High:   {"high", "max", "medium"},
	}
	for _, word := range choices[e] {
		if slices.Contains(m.Efforts, word) {
			return word
		}
	}
	return ""
}
