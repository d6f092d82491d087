package trust

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
)

// Gate stands before one project.
type Gate struct {
	Home    string // ramet's
	Project string
	Sources []Source // nil: Standard
	Now     func() time.Time
}

func (g Gate) sources() []Source {
	if g.Sources == nil {
		return Standard()
	}
	return g.Sources
}

// Review compares what is in the project with what was accepted there.
func (g Gate) Review() (Review, error) {
	real, c, given, err := g.accepted()
	if err != nil {
		return Review{}, err
	}
	ground, err := Open(real)
	if err != nil {
		return Review{}, err
	}
	defer ground.Close()
	found, err := findThings(ground, g.sources())
	if err != nil {
		return Review{}, err
	}
	r := Review{Project: real, home: g.Home, Older: c.older, Given: given && !c.older}
	for _, s := range g.sources() {
		r.kinds = append(r.kinds, s.Kind)
	}
	was := map[name]kept{}
	for _, k := range c.Things {
		if slices.Contains(r.kinds, k.Kind) {
			was[k.name()] = k
		}
	}
	for _, t := range found {
		item := Item{Thing: t, Change: New}
		if k, ok := was[t.name()]; ok {
			item.accepted, item.Change = &k, Changed
			if t.Refused == "" && t.SHA256() == k.SHA256 {
				item.Change = Same
			}
		}
		delete(was, t.name())
		r.Items = append(r.Items, item)
	}
	for _, k := range was {
		r.Items = append(r.Items, Item{Thing: Thing{Kind: k.Kind, Path: k.Path}, Change: Gone, accepted: &k})
	}
	slices.SortFunc(r.Items, func(a, b Item) int { return compareNames(a.name(), b.name()) })
	return r, nil
}

// Accept lets act what a person saw in a review, in exactly these bytes. What was
// accepted of other kinds stays.
func (g Gate) Accept(ctx context.Context, r Review) error {
	c := consent{At: time.Now().UTC(), Things: []kept{}}
	if g.Now != nil {
		c.At = g.Now().UTC()
	}
	for _, i := range r.Items {
		if !i.acts() {
			continue
		}
		if err := keepBytes(g.Home, i.Thing); err != nil {
			return err
		}
		c.Things = append(c.Things, kept{i.Kind, i.Path, i.SHA256(), len(i.Data)})
	}
	return changeRecord(ctx, g.Home, func(rec *record) error {
		old, _ := rec.of(r.Project)
		for _, k := range old.Things {
			if !slices.Contains(r.kinds, k.Kind) {
				c.Things = append(c.Things, k)
			}
		}
		raw, err := json.Marshal(c)
		rec.Folders[r.Project] = raw
		return err
	})
}

// Revoke ends the trust; a folder that is not trusted, or gone, is no error.
func (g Gate) Revoke(ctx context.Context) error {
	real, err := realPath(g.Project)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return changeRecord(ctx, g.Home, func(rec *record) error {
		delete(rec.Folders, real)
		return nil
	})
}

// Accepts reports whether a person has accepted exactly this thing.
func (g Gate) Accepts(t Thing) (bool, error) {
	_, c, _, err := g.accepted()
	if err != nil {
		return false, err
	}
	return t.Refused == "" && slices.ContainsFunc(c.Things, func(k kept) bool {
		return k.name() == t.name() && k.SHA256 == t.SHA256()
	}), nil
}

// RecipeDigest returns the name under which a person consents to a recipe, in exactly this text.
func RecipeDigest(text string) string { return Thing{Data: []byte(text)}.SHA256() }

// AcceptsRecipe reports whether a person has consented that the recipe acts outside of runs.
func AcceptsRecipe(home, digest string) (bool, error) {
	r, err := readRecord(home)
	return slices.Contains(r.Recipes, digest), err
}

// AcceptRecipe records the consent.
func AcceptRecipe(ctx context.Context, home, digest string) error {
	return changeRecord(ctx, home, func(r *record) error {
		r.Recipes = append(r.Recipes, digest)
		return nil
	})
}

// Token is the secret that opens every route. It cannot be printed by accident: fmt calls
// String and GoString.
type Token struct{ value string }

// String hides the token.
func (Token) String() string { return "[redacted]" }

// GoString hides the token.
func (Token) GoString() string { return "[redacted]" }

// TokenPath returns where the token of a home folder is.
func TokenPath(home string) string { return filepath.Join(home, "token") }

// OpenToken reads the token of a home folder, and makes it first if there is none. Of
// several processes that make it one wins, and all read the same.
func OpenToken(home string) (Token, error) {
	path := TokenPath(home)
	t, err := ReadToken(home)
	if !fault.Is(err, fault.NotFound) {
		return t, err
	}
	if err := durable.MakeFolder(home, 0o700); err != nil {
		return Token{}, err
	}
	err = durable.CreateFile(path, []byte(rand.Text()+rand.Text()+"\n"), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return Token{}, err
	}
	return ReadToken(home)
}

// ReadToken reads the token of a home folder; NOT_FOUND if there is none. A file that
// others can read is refused: its token may be known already.
func ReadToken(home string) (Token, error) {
	path := TokenPath(home)
	text, err := durable.ReadPlain(path, maxToken, func(info fs.FileInfo) error {
		if info.Mode().IsRegular() && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return fault.New(fault.InvalidConfig, "%s can be read or written by others (mode %o)", path, info.Mode().Perm()).
				WithHint("delete it, and a new one is made; programs that use the old one have to read it again")
		}
		return nil
	})
	switch _, ours := fault.Of(err); {
	case errors.Is(err, fs.ErrNotExist):
		return Token{}, fault.New(fault.NotFound, "there is no token at %s", path).WithHint("`ramet serve` makes it")
	case ours:
		return Token{}, err
	case err != nil:
		return Token{}, fault.New(fault.StorageIO, "read token: %w", err)
	}
	value := strings.TrimSpace(string(text))
	bad := strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(value) < minToken || bad {
		return Token{}, fault.New(fault.InvalidConfig, "what %s holds is not a token", path).
			WithHint("delete it, and a new one is made")
	}
	return Token{value}, nil
}

// A token that a user wrote has to be long, too.
const minToken, maxToken = 32, 1024

// For returns a token that stands for one agent. It is made of the token itself, so that nothing
// has to be kept: it is good for as long as the token is, and the agent lives.
func (t Token) For(a id.Agent) string { return agentPrefix + string(a) + "." + t.stamp(a) }

const agentPrefix = "ramet-agent."

// Agent returns the agent for which a token was made; false: it is none of ours.
func (t Token) Agent(said string) (id.Agent, bool) {
	name, stamp, ok := strings.Cut(strings.TrimPrefix(said, agentPrefix), ".")
	if !ok || t.value == "" || !strings.HasPrefix(said, agentPrefix) {
		return "", false
	}
	a, err := id.ParseAgent(name)
	return a, err == nil && hmac.Equal([]byte(stamp), []byte(t.stamp(a)))
}

// Bearer returns the header that shows the token to a server.
func (t Token) Bearer() string { return "Bearer " + t.value }

// Is reports whether a client sent this token.
func (t Token) Is(said string) bool {
	want, have := sha256.Sum256([]byte(t.value)), sha256.Sum256([]byte(said))
	return t.value != "" && subtle.ConstantTimeCompare(want[:], have[:]) == 1
}

func (t Token) stamp(a id.Agent) string {
	mac := hmac.New(sha256.New, []byte(t.value))
	mac.Write([]byte("ramet agent\n" + string(a)))
	return hex.EncodeToString(mac.Sum(nil))
}

// Prove answers a challenge: the HMAC-SHA256, under the token, of where the question was
// sent and the challenge. Where is in it so that a program on another port cannot have
// it answered by us; empty if there is no token.
func (t Token) Prove(host, challenge string) string {
	if t.value == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(t.value))
	mac.Write([]byte("ramet health\n" + strings.ToLower(host) + "\n" + challenge))
	return hex.EncodeToString(mac.Sum(nil))
}

// Change describes how a thing differs from what was accepted.
type Change string

// The changes.
const (
	Same    Change = "same"
	New     Change = "new"     // no person accepted it
	Changed Change = "changed" // what was accepted is used
	Gone    Change = "gone"    // what was accepted is used
)

// Item is a thing, and how it differs.
type Item struct {
	Thing
	Change   Change
	accepted *kept // nil: nothing
}

// acts reports whether accepting lets it act.
func (i Item) acts() bool { return i.Refused == "" && i.Change != Gone }

// Review is a project at one moment.
type Review struct {
	Project string // real path
	Given   bool   // a person has accepted something before
	Older   bool   // to a version that kept no bytes: it has to be given again
	Items   []Item // by kind and path

	kinds []Kind // that were looked at
	home  string
}

// Trusted reports whether everything is as it was accepted.
func (r Review) Trusted() bool { return r.Given && len(r.Changes()) == 0 }

// Changes returns the items that a person would have to accept.
func (r Review) Changes() []Item {
	var out []Item
	for _, i := range r.Items {
		if i.Change == Gone || i.Change == Changed || i.Change == New && i.Refused == "" {
			out = append(out, i)
		}
	}
	return out
}

// Digest names what accepting would accept: lower-case hexadecimal of
//
//	SHA-256("ramet trust 2\n" || for each thing that would act, by kind and path:
//	kind || 0 || path || 0 || SHA-256 of its bytes in hexadecimal || "\n")
func (r Review) Digest() string {
	h := sha256.New()
	io.WriteString(h, "ramet trust 2\n")
	for _, i := range r.Items {
		if i.acts() {
			fmt.Fprintf(h, "%s\x00%s\x00%s\n", i.Kind, i.Path, i.SHA256())
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Was returns the bytes that were accepted of an item; none if nothing was.
func (r Review) Was(i Item) ([]byte, error) {
	if i.accepted == nil {
		return nil, nil
	}
	return i.accepted.bytes(r.home)
}

// Diff shows what accepting would change in an item, with nothing in it invisible.
func (r Review) Diff(i Item) (string, error) {
	was, err := r.Was(i)
	if err != nil {
		return "", err
	}
	return Reveal(udiff.Unified("accepted/"+text.Single(i.Path), "now/"+text.Single(i.Path), string(was), string(i.Data))), nil
}
