package secret

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Found is a secret in a text. The secret itself is not told.
type Found struct {
	Name string // the credential's or the rule's
	Line int    // from 1
	// Sure: it is one of ours or has a known form. Else a word like "token" stands before
	// something that looks random.
	Sure bool
}

// Find tells of what All would replace, in the order of lines. Of what only looks random,
// hashes and versions are not told: texts about software are full of them.
func (r *Redactor) Find(s string) []Found {
	r = r.now()
	rules, markers := known(), r.every()
	units := unitsIn(s, markers)
	named, random := rules.assigned(s)
	maybe := slices.DeleteFunc(random, func(sp span) bool { return harmless().MatchString(s[sp.from:sp.to]) })
	sure := respectUnits(append(r.ownSpans(s), findEverywhere(s, append(rules.formed(s), named...), markers)...), units)
	// What is known already is not told again as something that may be one.
	rest := slices.DeleteFunc(respectUnits(findEverywhere(s, maybe, markers), units), func(m span) bool {
		return slices.ContainsFunc(sure, func(k span) bool { return k.from < m.to && m.from < k.to })
	})
	var out []Found
	for i, sp := range append(sure, rest...) {
		name := strings.TrimSuffix(strings.TrimPrefix(sp.label, open), "]")
		out = append(out, Found{Name: name, Line: 1 + strings.Count(s[:sp.from], "\n"), Sure: i < len(sure)})
	}
	slices.SortStableFunc(out, func(a, b Found) int {
		return cmp.Or(a.Line-b.Line, strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}

// harmless are values that look random and are none: digests in hex or with the name of
// their algorithm, UUIDs, and versions of Go modules.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:(?:[0-9a-f]{7,12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})|` +
		`(?:sha1|sha256|sha384|sha512|md5|h1)[-:][a-z0-9+/=_-]+|` +
		`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|` +
		`v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9a-z.+-]+)?)$`)
})
