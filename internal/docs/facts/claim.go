package facts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"ramet/internal/docs"
)

const (
	claimLimit     = 20_000
	signatureLimit = 2_000
	textLimit      = 4_000
	idLimit        = 120
)

// claim is a fact before it has its id.
type claim struct {
	docs.Claim
	key string // tells it from all others
}

// newClaim makes one; place is where it belongs (a folder, a dotted module), and becomes
// part of the id.
func newClaim(language string, kind docs.Kind, place, name string) *claim {
	parts := []string{language, string(kind), place, name}
	return &claim{
		Claim: docs.Claim{Kind: kind, Name: oneLine(name, 200), Language: language},
		key:   strings.Join(parts, "\x00"),
	}
}

func (c *claim) in(module string) *claim { c.Module = oneLine(module, 300); return c }
func (c *claim) signed(piece string) *claim {
	c.Signature = cutLines(uncite(piece), signatureLimit)
	return c
}
func (c *claim) says(text string) *claim   { c.Text = cutText(uncite(text), textLimit); return c }
func (c *claim) called(name string) *claim { c.Name = oneLine(name, 200); return c }
func (c *claim) spoken(lang string) *claim { c.Language = lang; return c }
func (c *claim) at(s *source, f, t int) *claim {
	c.Evidence = append(c.Evidence, s.evidence(f, t))
	return c
}

// uncite spoils markers that a repository could use to forge citations.
func uncite(s string) string {
	const open = "<!--"
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, open)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if strings.HasPrefix(strings.ToLower(strings.TrimLeft(after, " \t\r\n")), "claim") {
			b.WriteString("<! --")
		} else {
			b.WriteString(open)
		}
		s = after
	}
}

// settle merges claims about the same thing, drops what is too much, gives ids and sorts.
func settle(claims []*claim) []docs.Claim {
	claims = slices.DeleteFunc(claims, func(c *claim) bool { return c == nil || len(c.Evidence) == 0 || c.Name == "" })
	// The order of files decides which of two declarations speaks.
	slices.SortStableFunc(claims, func(a, b *claim) int {
		return cmp.Or(cmp.Compare(a.key, b.key), compareEvidence(a.Evidence[0], b.Evidence[0]))
	})
	claims = merge(claims)
	if len(claims) > claimLimit {
		slices.SortStableFunc(claims, func(a, b *claim) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(depth(a), depth(b)), cmp.Compare(a.key, b.key))
		})
		claims = claims[:claimLimit]
	}
	name(claims)
	out := make([]docs.Claim, len(claims))
	for i, c := range claims {
		out[i] = c.Claim
	}
	slices.SortFunc(out, func(a, b docs.Claim) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// merge makes one claim of neighbours with the same key. Overloads in one file show all
// their signatures; a twin for another platform adds its evidence if it says the same.
func merge(claims []*claim) []*claim {
	var out []*claim
	for _, c := range claims {
		if len(out) == 0 || out[len(out)-1].key != c.key {
			out = append(out, c)
			continue
		}
		first := out[len(out)-1]
		fills := first.Text == "" && c.Text != ""
		if fills {
			first.Text = c.Text
		}
		if first.Evidence[0].File != c.Evidence[0].File && c.Signature != first.Signature {
			if fills { // the words are proven there
				first.Evidence = append(first.Evidence, c.Evidence...)
			}
			continue
		}
		if !strings.Contains(first.Signature, c.Signature) && len(first.Evidence) < 8 {
			if joined := first.Signature + "\n" + c.Signature; len(joined) <= signatureLimit {
				first.Signature = joined
			}
		}
		if len(first.Evidence) < 8 && !slices.Contains(first.Evidence, c.Evidence[0]) {
			first.Evidence = append(first.Evidence, c.Evidence...)
		}
	}
	return out
}

func compareEvidence(a, b docs.Evidence) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// ranks says what is kept first when there is too much.
var ranks = []docs.Kind{
	docs.Project, docs.Licence, docs.Install, docs.Entry, docs.Module, docs.Readme, docs.Command,
	docs.Requires, docs.Type, docs.Function, docs.Flag, docs.Convention, docs.Method, docs.Value, docs.Example,
}

func rank(c *claim) int  { return slices.Index(ranks, c.Kind) }
func depth(c *claim) int { return strings.Count(c.Evidence[0].File, "/") }

// name gives each claim its id.
func name(claims []*claim) {
	byFold := map[string][]*claim{}
	for _, c := range claims {
		c.ID = fold(c.key)
		byFold[c.ID] = append(byFold[c.ID], c)
	}
	// A hash could meet an id that is taken: then more of it is used.
	taken := map[string]bool{}
	for id := range byFold {
		taken[id] = true
	}
	for _, id := range slices.Sorted(mapsKeys(byFold)) {
		same := byFold[id]
		if len(same) == 1 {
			continue
		}
		for _, c := range same {
			if plain(c.key) == id {
				continue
			}
			sum := sha256.Sum256([]byte(c.key))
			hash := hex.EncodeToString(sum[:])
			n := 8
			for taken[id+"-"+hash[:n]] && n < len(hash) {
				n++
			}
			c.ID = id + "-" + hash[:n]
			taken[c.ID] = true
		}
	}
}

// plain joins the parts of a key as they are.
func plain(key string) string {
	parts := slices.DeleteFunc(strings.Split(key, "\x00"), func(s string) bool { return s == "" })
	return strings.Join(parts, ".")
}

// fold makes an id of a key.
func fold(key string) string {
	var b strings.Builder
	last := byte('.')
	for _, r := range strings.ToLower(plain(key)) {
		c := byte('-')
		if r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_') {
			c = byte(r)
		}
		if (c == '-' || c == '.') && (last == '-' || last == '.') {
			continue
		}
		b.WriteByte(c)
		last = c
	}
	id := strings.Trim(b.String(), "-.")
	if len(id) <= idLimit {
		return id
	}
	sum := sha256.Sum256([]byte(key))
	return strings.Trim(id[:idLimit-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}
