package secret

import (
	"slices"
	"strings"
)

// index finds the forms that can begin at each place of a text, in one pass: a bit for the
// hash of the next three bytes reports whether the anchor of any can, which is nearly always
// no.
type index struct {
	may [1 << 16 / 64]uint64
	at  [1 << 16 / 64][]entry // in the place of the bit's word
}

// entry is a form of a kind, found by three bytes; shift is how far behind their first its
// anchor begins.
type entry struct {
	gram  uint32
	kind  *kind
	form  *form
	shift int
}

func newIndex(kinds []kind) *index {
	x := &index{}
	for i := range kinds {
		for _, f := range kinds[i].forms {
			grams, shift := f.grams()
			for _, g := range grams {
				x.add(entry{gramOf(g), &kinds[i], f, shift})
			}
		}
	}
	// The longest anchor is the most particular one; among equals the table's order counts.
	for _, entries := range x.at {
		slices.SortStableFunc(entries, func(a, b entry) int { return len(b.form.anchor) - len(a.form.anchor) })
	}
	return x
}

func (x *index) add(e entry) {
	h := hashPrefix(e.gram)
	x.may[h/64] |= 1 << (h % 64)
	x.at[h/64] = append(x.at[h/64], e)
}

// gramLen sets how many bytes of a text are looked up at each place.
const gramLen = 3

func gramOf(s string) uint32 { return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 }

// grams returns three bytes of the anchor. An anchor that is shorter has many: with each
// character that can follow it, or with those that can precede it.
func (f *form) grams() (grams []string, shift int) {
	if len(f.anchor) >= gramLen {
		at := rarestIndex(f.anchor)
		return []string{f.anchor[at : at+gramLen]}, -at
	}
	at := slices.IndexFunc(f.pieces, func(p piece) bool { return p.literal == f.anchor })
	if len(f.anchor) == 2 && at+1 < len(f.pieces) {
		for _, c := range f.pieces[at+1].set.letters() {
			grams = append(grams, f.anchor+c)
		}
		return grams, 0
	}
	if len(f.anchor) == 1 && at > 0 && f.pieces[at-1].min >= 2 {
		for _, a := range f.pieces[at-1].set.letters() {
			for _, b := range f.pieces[at-1].set.letters() {
				grams = append(grams, a+b+f.anchor)
			}
		}
		return grams, 2
	}
	panic("secret: a form without an anchor")
}

// rarestIndex returns the index of the three bytes of an anchor that are rarest in texts: small
// letters are common.
func rarestIndex(anchor string) int {
	best, most := 0, -1
	for i := range len(anchor) - gramLen + 1 {
		n := 0
		for _, c := range []byte(anchor[i : i+gramLen]) {
			if c < 'a' || c > 'z' {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return best
}

// find returns every key of the index in a text.
func (x *index) find(s string) []span {
	if len(s) < gramLen {
		return nil
	}
	var out []span
	t := newText(s)
	g := uint32(s[0])<<8 | uint32(s[1])<<16
	for end := gramLen - 1; end < len(s); end++ {
		g = g>>8 | uint32(s[end])<<16
		h := hashPrefix(g)
		if x.may[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for i := range x.at[h/64] {
			e := &x.at[h/64][i]
			if e.gram != g {
				continue
			}
			if from, to := e.key(t, end+1-gramLen+e.shift); to > 0 {
				out = append(out, span{from, to, markerFor(e.kind.name)})
				break
			}
		}
	}
	return out
}

// key returns the place of the key whose anchor stands at a; to is 0 when there is none.
func (e *entry) key(t *text, a int) (from, to int) {
	s := t.string
	if a < 0 || !strings.HasPrefix(s[a:], e.form.anchor) {
		return 0, 0
	}
	for lead := e.form.lead[0]; lead <= min(e.form.lead[1], a); lead++ {
		from = a - lead
		if to = e.form.match(t, from); to < 0 {
			continue
		}
		if e.kind.sum != nil && e.kind.sum(s[from:to]) {
			return from, to
		}
		if canStartAt(s, from) && canEndAt(s, to, e.form.last()) && !isPlaceholder(e.form.changing(s[from:to])) {
			return from, to
		}
	}
	return 0, 0
}

// canStartAt reports whether a key can begin at i: no letter or digit stands before it, unless that
// is the end of an escape (\n, %3D).
func canStartAt(s string, i int) bool {
	if i == 0 || !isAlnum(s[i]) || !isAlnum(s[i-1]) {
		return true
	}
	if i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrt", s[i-1]) >= 0 {
		return true
	}
	if i < 3 {
		return false
	}
	_, isCode := percentCode(s[i-3 : i])
	return isCode
}

// canEndAt reports whether a key whose last characters are of an alphabet can end before i.
func canEndAt(s string, i int, last *alphabet) bool {
	return i == len(s) || !isAlnum(s[i]) && s[i] != '_' && (last == nil || !last.has(s[i]))
}

func isAlnum(c byte) bool { return isLetter(c) || isDigit(c) }
