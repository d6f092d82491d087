package llm

import (
	"slices"
	"strings"
	"unicode"

	"ramet/internal/base/fault"
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

// Model describes a model.
type Model struct {
	Name    string   `json:"name"`              // the vendor's name for it
	Title   string   `json:"title"`             // for people
	Price   Price    `json:"price"`             // zero where it costs nothing or nobody knows
	Context int64    `json:"context"`           // tokens it can read and write in all; 0: unknown
	Output  int64    `json:"output"`            // tokens of one answer; 0: unknown
	Thinks  bool     `json:"thinks"`            // it can be told to think
	Efforts []string `json:"efforts,omitempty"` // the vendor's words for how hard
	Images  bool     `json:"images"`            // it can read images
	PDF     bool     `json:"-"`                 // it is asked in a protocol that has a place for documents, and can read them
	Effort  Effort   `json:"effort,omitempty"`  // how hard it is to think where nobody says
	Quiet   bool     `json:"quiet,omitempty"`   // it shows its thinking only when told to
	Steady  bool     `json:"steady,omitempty"`  // it takes no temperature
	Search  bool     `json:"search,omitempty"`  // its vendor searches the web for it
	Known   bool     `json:"-"`                 // it stands in the table: what is false here is false
}

// Think returns the word that asks a model to think as hard as e, or "" where it is
// not asked: nobody said how hard, or it is known not to think. A model that
// nobody knows is asked: whoever named an effort knows it.
func (m Model) Think(e Effort) string {
	switch {
	case e == "", m.Known && !m.Thinks:
		return ""
	case len(m.Efforts) > 0:
		return m.Nearest(e)
	}
	return string(e)
}

// Nearest returns the model's own word for an effort: the same, else the one that is
// least far from it, the harder of two. "" where it has none.
func (m Model) Nearest(e Effort) string {
	asked := slices.Index(ladder, e)
	if asked < 0 {
		return ""
	}
	best, away := "", len(ladder)
	for i, step := range ladder {
		if !slices.Contains(m.Efforts, string(step)) || step == Off && e != Off {
			continue
		}
		if d := max(i-asked, asked-i); d <= away {
			best, away = string(step), d
		}
	}
	return best
}
