// Package secret takes secrets out of texts before they are kept or shown.
//
// A Redactor knows two kinds. Own credentials are exact values given by the
// caller; they are found as they are and in these disguises:
//
//   - percent-encoded, in whole or in part, one layer deep (URLs, forms)
//   - base64, standard or URL alphabet, alone or inside something larger that
//     was encoded ("user:key" of HTTP Basic), on one line
//   - escaped as in a JSON string
//
// Known formats are kinds of keys, in tables written from what vendors publish of them:
// the prefix, the alphabet, the length and, where there is one, the checksum. Keys whose
// form many things have are known beside their vendor's name; any other by a name with a
// word like "token" in it and a value that looks random. What a person wrote (an example,
// the name of a variable) is told from what is random, and stays. Nothing outside the
// program can change the tables, nor can a remark in the text. gitleaks judges them
// (tools/oracle); docs/benchmarks has its judgement.
//
// What is found becomes [redacted:NAME], NAME being the credential's name or
// the rule's. In names, bytes other than letters, digits, "_", "." and "-"
// become "_", and 64 bytes are kept. Secrets that overlap become one marker,
// named after the one that begins first.
//
// It promises, for Own and All:
//
//   - no value survives, in any of the forms above
//   - a text without secrets comes back byte for byte, not UTF-8 included
//   - redacting twice is redacting once
//   - concurrent use is safe, and nothing is printed
//
// Values shorter than MinValue bytes are ignored: they are found everywhere in
// innocent text, and the markers would tell more than they hide. A value that
// is part of a marker (such as "redacted") is ignored too.
package secret

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// MinValue is the length in bytes below which a value is not looked for.
const MinValue = 8

// Redactor replaces secrets. It changes only by Renew and Also.
type Redactor struct {
	later   atomic.Pointer[Redactor] // what it became; nil: it is as it was made
	markers []string                 // of the own credentials, sorted
	own     *matcher                 // nil when there is no value to look for
	every   func() []string          // the own markers and those of the rules

	mu     sync.Mutex
	values map[string]string // as given; guarded by mu
	also   []*passing        // the newest last; guarded by mu
}

// named is a value and what is shown in its place.
type named struct{ name, value string }

// passing is a value that is secret for a while.
type passing struct {
	named
	over bool
}

// mostOver limits how many values are remembered whose time is over.
const mostOver = 200

// New makes a redactor of our own credentials: name to exact value. Of names
// that share a value the first in order is shown.
func New(values map[string]string) *Redactor {
	r := newRedactor(sortByName(values))
	r.values = values
	return r
}

func sortByName(values map[string]string) []named {
	out := make([]named, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, named{name, values[name]})
	}
	return out
}

func newRedactor(all []named) *Redactor {
	r := &Redactor{markers: []string{markerFor(nameless)}}
	for _, one := range all {
		r.markers = append(r.markers, markerFor(one.name))
	}
	slices.Sort(r.markers)
	r.markers = slices.Compact(r.markers)

	var patterns []pattern
	var texts []string
	for _, one := range all {
		if len(one.value) < MinValue {
			continue
		}
		for _, p := range disguisesOf(one.value) {
			// Looking for a piece of a marker would never come to an end.
			if containedIn(p.text, r.markers) {
				continue
			}
			p.label = markerFor(one.name)
			patterns = append(patterns, p)
			texts = append(texts, p.text)
		}
	}
	r.own = newMatcher(patterns)
	r.every = sync.OnceValue(func() []string {
		return slices.Concat(r.markers, withoutShowing(known().markers, texts))
	})
	return r
}

// Renew lets it know these credentials instead, from now on: a key was stored.
func (r *Redactor) Renew(values map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = values
	r.renewed()
}

// Also lets it know values that are secret for a while, under one name. When their time is over they are
// still remembered, until many others are: they may be told late.
func (r *Redactor) Also(name string, values ...string) (over func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var mine []*passing
	for _, v := range values {
		mine = append(mine, &passing{named: named{name, v}})
	}
	r.also = append(r.also, mine...)
	r.renewed()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, one := range mine {
			one.over = true
		}
	}
}

// renewed makes what it became. The caller has the mutex.
func (r *Redactor) renewed() {
	gone := -mostOver
	for _, one := range r.also {
		if one.over {
			gone++
		}
	}
	r.also = slices.DeleteFunc(r.also, func(one *passing) bool {
		if gone > 0 && one.over {
			gone--
			return true
		}
		return false
	})
	all := sortByName(r.values)
	for _, one := range r.also {
		all = append(all, one.named)
	}
	r.later.Store(newRedactor(all))
}

func (r *Redactor) now() *Redactor {
	if later := r.later.Load(); later != nil {
		return later
	}
	return r
}

// Own replaces the values of our own credentials and nothing else.
func (r *Redactor) Own(s string) string {
	r = r.now()
	for {
		next := r.ownOnce(s, r.markers)
		if next == s {
			return s
		}
		// A replacement can bring the pieces of another value together.
		s = next
	}
}

// All replaces what Own replaces, and secrets of known formats. The first call
// in a process builds the rules, which takes about a millisecond.
func (r *Redactor) All(s string) string {
	r = r.now()
	rules, markers := known(), r.every()
	for {
		next := r.ownOnce(s, markers)
		next = rules.once(next, markers)
		if next == s {
			return s
		}
		s = next
	}
}

// withoutShowing leaves out the markers that would show one of our own values.
func withoutShowing(markers, texts []string) []string {
	return slices.DeleteFunc(slices.Clone(markers), func(m string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(m, text) })
	})
}

// ownOnce makes one pass. Each pass that changes anything leaves fewer bytes
// outside markers, so passes come to an end.
func (r *Redactor) ownOnce(s string, markers []string) string {
	return replaceSpans(s, r.ownSpans(s), markers)
}

// ownSpans returns the pieces of a text that hold our own credentials.
func (r *Redactor) ownSpans(s string) []span {
	if r.own == nil {
		return nil
	}
	spans := r.own.find(s, nil)
	if plain, ok := percentDecoded(s); ok {
		if found := r.own.find(plain, nil); len(found) > 0 {
			place := percentPlaces(s)
			for _, sp := range found {
				spans = append(spans, span{place[sp.from], place[sp.to], sp.label})
			}
		}
	}
	return spans
}
