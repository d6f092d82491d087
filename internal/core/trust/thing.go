package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Kind describes how a thing acts.
type Kind string

// The kinds there are.
const (
	Configuration Kind = "configuration"
	Instructions  Kind = "instructions"
	GitProgram    Kind = "git program"
	Servers       Kind = "mcp servers"
)

// Thing is something in a project that acts once it is accepted.
type Thing struct {
	Kind Kind
	Path string // below the project, with slashes; of a setting: its file and key
	Does string // what it would do, for people
	Link string // where a link leads; empty: it is none
	Data []byte // the bytes that act
	// Refused gives why it cannot act even if accepted; empty: it can.
	Refused string
}

// SHA256 returns the hash of the bytes that act, in lower-case hexadecimal.
func (t Thing) SHA256() string {
	sum := sha256.Sum256(t.Data)
	return hex.EncodeToString(sum[:])
}

// Source finds the things of one kind.
type Source struct {
	Kind Kind
	Find func(*Ground) ([]Thing, error)
}

// name tells things apart.
type name struct {
	kind Kind
	path string
}

func (t Thing) name() name { return name{t.Kind, t.Path} }

func compareNames(a, b name) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.path, b.path))
}

// findThings runs all sources, in the order of kinds and paths.
func findThings(g *Ground, sources []Source) ([]Thing, error) {
	var out []Thing
	for _, s := range sources {
		found, err := s.Find(g)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			t.Kind = s.Kind
			out = append(out, t)
		}
	}
	listed := map[string]bool{}
	for _, t := range out {
		listed[t.Path] = listed[t.Path] || t.Kind != Obeyed
	}
	out = slices.DeleteFunc(out, func(t Thing) bool { return t.Kind == Obeyed && listed[t.Path] })
	slices.SortFunc(out, func(a, b Thing) int { return compareNames(a.name(), b.name()) })
	return out, nil
}
