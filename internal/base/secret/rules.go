package secret

import (
	"slices"
	"strings"
	"sync"
)

// genericRule is the one rule that knows no form.
const genericRule = "generic-api-key"

// rules are the kinds of keys, shared by all redactors.
type rules struct {
	anywhere *index
	named    map[string][]namedForm // by the vendor's name
	vendors  []string               // the keys of named
	markers  []string
}

// namedForm is a form that is known beside its vendor's name only.
type namedForm struct {
	form  *form
	label string
}

// known builds the rules at the first call: most commands never need them.
var known = sync.OnceValue(func() *rules {
	anywhere, named := kindsOf(false), kindsOf(true)
	r := &rules{anywhere: newIndex(anywhere), named: map[string][]namedForm{}}
	for _, k := range named {
		for _, f := range k.forms {
			for _, vendor := range k.near {
				r.named[vendor] = append(r.named[vendor], namedForm{f, markerFor(k.name)})
			}
		}
	}
	for vendor := range r.named {
		r.vendors = append(r.vendors, vendor)
	}
	slices.Sort(r.vendors)
	for _, k := range kinds() {
		r.markers = append(r.markers, markerFor(k.name))
	}
	r.markers = append(r.markers, markerFor("private-key"), markerFor(genericRule))
	slices.Sort(r.markers)
	r.markers = slices.Compact(r.markers)
	return r
})

// once makes one pass over the known kinds. Those of vendors come first: what they find has
// the better name.
func (r *rules) once(s string, markers []string) string {
	s = replaceSpans(s, findEverywhere(s, r.formed(s), markers), markers)
	named, random := r.assigned(s)
	return replaceSpans(s, findEverywhere(s, append(named, random...), markers), markers)
}

// formed returns the keys that are known by their form, wherever they stand.
func (r *rules) formed(s string) []span { return append(r.anywhere.find(s), privateKeys(s)...) }

// assigned returns the values that are keys by the name they are given to: named those of a
// vendor's form beside the vendor's name, random those that just look like it.
func (r *rules) assigned(s string) (named, random []span) {
	for _, a := range findAssignments(s) {
		value := s[a.from:a.to]
		if label := r.vendorOf(a.name, value); label != "" {
			named = append(named, span{a.from, a.to, label})
		} else if looksRandom(value) {
			random = append(random, span{a.from, a.to, markerFor(genericRule)})
		}
	}
	return named, random
}

// vendorOf returns the marker of the kind whose form the value has and whose vendor the name
// speaks of.
func (r *rules) vendorOf(name, value string) string {
	for _, vendor := range r.vendors {
		if !strings.Contains(name, vendor) {
			continue
		}
		for _, f := range r.named[vendor] {
			if f.form.match(newText(value), 0) == len(value) && !isPlaceholder(value) && countedShare(value) <= 0.4 {
				return f.label
			}
		}
	}
	return ""
}

// findEverywhere adds the places where the same keys occur again, even where nothing
// around tells. A few bytes that are the same are a coincidence.
func findEverywhere(s string, spans []span, markers []string) []span {
	if len(spans) == 0 {
		return nil
	}
	var patterns []pattern
	seen := map[pattern]bool{}
	for i, sp := range spans {
		if !slices.Contains(markers, sp.label) {
			spans[i].label = markerFor(nameless)
		}
		p := pattern{text: s[sp.from:sp.to], label: spans[i].label}
		if len(p.text) >= MinValue && !seen[p] {
			seen[p] = true
			patterns = append(patterns, p)
		}
	}
	if m := newMatcher(patterns); m != nil {
		spans = m.find(s, spans)
	}
	return spans
}
