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
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
)

// Options describes the destination of deliveries. Exactly one of URL and Local is set.
type Options struct {
	URL   string // of the service, such as http://127.0.0.1:8765
	Token string // bearer token; empty: none
	// Local is a store of this process, for a ramet that keeps its own telemetry.
	Local telemetry.Store
	// Name names the store Local, or the destination that Nowhere cannot reach.
	Name string
	// Nowhere is set if this process has no way to the destination: everything waits.
	Nowhere bool
	// Pauses lists the delays before each retry; nil: 1, 2 and 4 s.
	Pauses []time.Duration
	// Later is the delay before a service that did not answer is tried again; 0: 30 s.
	Later time.Duration
	// Timeout of one request; 0: 5 s.
	Timeout time.Duration
	// Report receives refusals and errors of the file, from one goroutine at a time; it must not call the outbox.
	// nil: see Dead and Err.
	Report func(error)
}

func (o *Options) complete() error {
	if o.Pauses == nil {
		o.Pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}
	}
	if o.Later == 0 {
		o.Later = 30 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
	if o.Nowhere {
		if o.URL != "" || o.Local != nil || o.Name == "" {
			return fault.New(fault.InvalidConfig, "an outbox that sends nothing has a name and no destination")
		}
		return nil
	}
	if (o.URL == "") == (o.Local == nil) {
		return fault.New(fault.InvalidConfig, "telemetry goes to a service or to a store: one of them, not both")
	}
	if o.URL == "" {
		return nil
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fault.New(fault.InvalidConfig, "the address of the telemetry service is not an http or https URL").
			WithHint("set TELEMETRY_API_URL to something like http://127.0.0.1:8765")
	}
	return nil
}

// To returns the destination as the file names it.
func (o *Options) To() To {
	if o.URL == "" {
		return To{Name: o.Name}
	}
	return To{Name: Address(o.URL), Token: o.Token != ""}
}

// wire returns the way to the destination.
func (o *Options) wire() wire {
	switch {
	case o.Nowhere:
		return func(context.Context, string, []*parcel) error { return fmt.Errorf("they are kept for %s", o.Name) }
	case o.Local != nil:
		return local{o.Local}.send
	}
	return newRemote(o).send
}

// To is the destination of an outbox, as in its file.
type To struct {
	Name  string // the address of a service, or the name of a store; empty: it does not say
	Token bool   // the service is asked with a token
}

// Service reports whether the destination is reached over HTTP.
func (t To) Service() bool {
	return strings.HasPrefix(t.Name, "http://") || strings.HasPrefix(t.Name, "https://")
}

// Address returns the URL of a service as the file may hold it: without user and password.
func Address(service string) string {
	u, err := url.Parse(service)
	if err != nil {
		return ""
	}
	u.User = nil
	return strings.TrimRight(u.String(), "/")
}

// Destination reads the destination of the outbox at a path. It is empty for a file that is missing, unfinished, or
// of an older version.
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

// bindDestination writes the destination into the file, or refuses a file with another one.
func (b *Outbox) bindDestination() error {
	own := b.Options.To()
	switch {
	case own.Name == "" || own == b.to, b.to.Name == own.Name && b.Nowhere: // what the file says of tokens is known to others
	case b.to.Name == "" || b.to.Name == own.Name:
		b.to = own
		b.rewrite()
	default:
		return fault.New(fault.Conflict, "%s goes to %s, not to %s", b.path, b.to.Name, own.Name).
			WithHint("what waits for one destination is given to no other")
	}
	return b.err
}
