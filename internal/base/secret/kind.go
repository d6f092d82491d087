package secret

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// kind is a kind of key, as its vendor writes it.
type kind struct {
	name  string // for the marker
	forms []*form
	near  []string              // words of which one must be in the name that the key is given to; none: it is found everywhere
	sum   func(key string) bool // the checksum, where one is published
}

//go:embed kinds.txt
var kindTable string

// sums are the checksums that the table names.
var sums = map[string]func(string) bool{"github": crcOfGitHub, "grafana": crcOfGrafana, "bech32": sumOfBech32}

// kinds returns those of the table. It is part of the program, so that a mistake in it is a bug, which a test finds.
var kinds = sync.OnceValue(func() []kind {
	all, err := parseKinds(kindTable)
	if err != nil {
		panic("secret: " + err.Error())
	}
	return all
})

// parseKinds reads a table of kinds: a line for each, with # before remarks.
func parseKinds(table string) ([]kind, error) {
	var all []kind
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		k := kind{name: words[0]}
		for _, word := range words[1:] {
			if near, ok := strings.CutPrefix(word, "near="); ok {
				k.near = strings.Split(near, ",")
			} else if sum, ok := strings.CutPrefix(word, "sum="); ok {
				if k.sum = sums[sum]; k.sum == nil {
					return nil, fmt.Errorf("%s: no checksum %q", k.name, sum)
				}
			} else if f, err := parseForm(word); err != nil {
				return nil, fmt.Errorf("%s: %w", k.name, err)
			} else {
				k.forms = append(k.forms, f)
			}
		}
		all = append(all, k)
	}
	return all, nil
}

// kindsOf returns the kinds that are found everywhere, or those that are known by their form only beside the name of
// their vendor.
func kindsOf(named bool) []kind {
	var out []kind
	for _, k := range kinds() {
		if named == (k.near != nil) {
			out = append(out, k)
		}
	}
	return out
}
