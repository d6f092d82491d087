package outbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// To is where an outbox delivers to, as its file says.
type To struct {
	Name  string // the address of a service, or the name of a store; empty: it does not say
	Token bool   // the service is asked with a token
}

// Service reports whether it is one that is asked over HTTP.
func (t To) Service() bool {
	return strings.HasPrefix(t.Name, "http://") || strings.HasPrefix(t.Name, "https://")
}

// Address is the URL of a service as a file may know it: without user and password.
func Address(service string) string {
	u, err := url.Parse(service)
	if err != nil {
		return ""
	}
	u.User = nil
	return strings.TrimRight(u.String(), "/")
}

// Destination reads where the outbox at a path delivers to. It says nothing, and neither
// does one that an older version wrote.
func Destination(path string) (To, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return To{}, nil
	}
	if err != nil {
		return To{}, durable.Failure("open", path, err)
	}
	defer f.Close()
	first, err := bufio.NewReader(f).ReadBytes('\n')
	if err != nil {
		return To{}, nil // unfinished
	}
	l, err := parseLine(first[:len(first)-1])
	if err != nil {
		return To{}, nil
	}
	return To{l.To, l.Token}, nil
}

// address makes the file say where it goes, or refuses one that goes elsewhere.
func (b *Outbox) address() error {
	own := b.Options.To()
	switch {
	case own.Name == "" || own == b.to:
	case b.to.Name == "":
		b.to = own
		b.rewrite()
	case b.to.Name == own.Name:
		if b.Nowhere {
			break // what it says of tokens is known to others
		}
		b.to = own
		b.rewrite()
	default:
		return fault.New(fault.Conflict, "%s goes to %s, not to %s", b.path, b.to.Name, own.Name).
			WithHint("what waits for one destination is given to no other")
	}
	return b.err
}

// nowhere is the wire to a destination that this process cannot reach.
type nowhere struct{ name string }

func (n nowhere) send(context.Context, []*parcel) error {
	return fmt.Errorf("they are kept for %s", n.name)
}

func (nowhere) close() {}
