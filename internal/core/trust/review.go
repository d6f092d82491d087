package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/aymanbagabas/go-udiff"

	"ramet/internal/base/text"
)

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
