package secret

import (
	"fmt"
	"strconv"
	"strings"
)

// form describes the keys of one kind as a row of pieces. In the table it is a
// text in which <alphabet:length> stands for characters of an alphabet and everything else
// for itself:
//
//	ghp_<base62:36>      exactly 36
//	sk_live_<base62:24-99>
//	<base62:14>.atlasv1.<url:60-70>
//
// <uuid> is short for the five groups of one.
type form struct {
	pieces []piece
	anchor string // the literal that is looked for in a text
	lead   [2]int // how many bytes stand before the anchor, at least and at most
}

// piece is a literal, or characters of an alphabet.
type piece struct {
	literal  string
	set      *alphabet
	name     string // of the alphabet
	min, max int
	// firm: what follows cannot begin with a character of the alphabet, so that the piece
	// goes as far as it can.
	firm bool
}

const uuid = "<hex:8>-<hex:4>-<hex:4>-<hex:4>-<hex:12>"

// parseForm reads a form of the table.
func parseForm(text string) (*form, error) {
	f := &form{}
	for rest := strings.ReplaceAll(text, "<uuid>", uuid); rest != ""; {
		literal, after, isSet := strings.Cut(rest, "<")
		if literal != "" {
			f.pieces = append(f.pieces, piece{literal: literal})
		}
		if !isSet {
			break
		}
		inside, behind, closed := strings.Cut(after, ">")
		p, err := parseSet(inside)
		if err != nil || !closed {
			return nil, fmt.Errorf("form %q: <%s>: %v", text, inside, err)
		}
		f.pieces = append(f.pieces, p)
		rest = behind
	}
	f.findAnchor()
	for i := range f.pieces {
		f.pieces[i].firm = f.isFirm(i)
	}
	return f, nil
}

func parseSet(text string) (piece, error) {
	name, lengths, _ := strings.Cut(text, ":")
	chars := alphabets[name]
	if chars == "" {
		return piece{}, fmt.Errorf("no such alphabet")
	}
	low, high, isRange := strings.Cut(lengths, "-")
	if !isRange {
		high = low
	}
	p := piece{set: newAlphabet(chars), name: name}
	var err error
	if p.min, err = strconv.Atoi(low); err != nil {
		return piece{}, err
	}
	if p.max, err = strconv.Atoi(high); err != nil || p.max < p.min {
		return piece{}, fmt.Errorf("bad length")
	}
	return p, nil
}

// findAnchor takes the first literal, unless it is a single character and a longer one
// follows.
func (f *form) findAnchor() {
	var low, high int
	for _, p := range f.pieces {
		if p.set == nil && len(p.literal) > len(f.anchor) && len(f.anchor) < 2 {
			f.anchor, f.lead = p.literal, [2]int{low, high}
		}
		low, high = low+max(len(p.literal), p.min), high+max(len(p.literal), p.max)
	}
}

func (f *form) isFirm(i int) bool {
	set := f.pieces[i].set
	if set == nil {
		return true
	}
	for _, p := range f.pieces[i+1:] {
		if p.set == nil {
			return !set.has(p.literal[0])
		}
		if p.set.meets(set) {
			return false
		}
		if p.min > 0 {
			return true
		}
	}
	return true
}

// match returns the end of the form when it begins at i, or -1. Of several ends it is the
// last.
func (f *form) match(t *text, i int) int { return t.match(f.pieces, i) }

// text describes what is looked through. It remembers for each alphabet where the last run of its
// characters was, so that no run is walked once for each of the keys that can begin in it.
type text struct {
	string
	runs map[string]span
}

func newText(s string) *text { return &text{s, map[string]span{}} }

// run returns the end of the characters of a piece's alphabet from i on, not more than the
// piece has.
func (t *text) run(p *piece, i int) int {
	r, ok := t.runs[p.name]
	if !ok || i < r.from || i >= r.to {
		r = span{from: i, to: p.set.run(t.string, i)}
		t.runs[p.name] = r
	}
	return min(r.to, i+p.max)
}

func (t *text) match(pieces []piece, i int) int {
	for n := range pieces {
		p := &pieces[n]
		if p.set == nil {
			if !strings.HasPrefix(t.string[i:], p.literal) {
				return -1
			}
			i += len(p.literal)
			continue
		}
		end := t.run(p, i)
		if p.firm {
			if end-i < p.min {
				return -1
			}
			i = end
			continue
		}
		for ; end-i >= p.min; end-- {
			if to := t.match(pieces[n+1:], end); to >= 0 {
				return to
			}
		}
		return -1
	}
	return i
}

// last returns the alphabet of the last piece, nil when that is a literal.
func (f *form) last() *alphabet { return f.pieces[len(f.pieces)-1].set }

// changing returns a key without what all keys of the form have in common.
func (f *form) changing(key string) string {
	for _, p := range f.pieces {
		if p.set == nil {
			key = strings.Replace(key, p.literal, "", 1)
		}
	}
	return key
}
