package store

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
)

// Cleaned is a store into which none of our credentials gets: whatever the caller, each text of
// an entry, a letter, a kept reply and a reason passes through the cleaner first. What is
// read back, shown and sent to a model is made of what was stored, so this is the one
// place. Contents that are stored as bytes (images) are not looked into.
type Cleaned struct {
	*Store
	clean func(string) string
}

// Clean puts a cleaner in front of a store; nil cleans nothing.
func Clean(s *Store, clean func(string) string) *Cleaned {
	if clean == nil {
		clean = func(s string) string { return s }
	}
	return &Cleaned{s, clean}
}

// Append implements registry.Registry.
func (c *Cleaned) Append(ctx context.Context, a id.Agent, claim agent.Claim, drafts ...history.Draft) ([]history.Entry, error) {
	return c.Store.Append(ctx, a, claim, c.drafts(drafts)...)
}

// Fork implements registry.Registry.
func (c *Cleaned) Fork(ctx context.Context, f registry.Fork) ([]agent.Agent, error) {
	f.Entries = c.drafts(f.Entries)
	children := make([]registry.Child, len(f.Children))
	for i, child := range f.Children {
		if err := c.name(child.Name); err != nil {
			return nil, err
		}
		child.Entries = c.drafts(child.Entries)
		children[i] = child
	}
	f.Children = children
	return c.Store.Fork(ctx, f)
}

// Kill implements registry.Registry.
func (c *Cleaned) Kill(ctx context.Context, k registry.Kill) (registry.Killed, error) {
	k.Reason = c.clean(k.Reason)
	return c.Store.Kill(ctx, k)
}

// Rename implements registry.Registry.
func (c *Cleaned) Rename(ctx context.Context, a id.Agent, claim agent.Claim, name string) (agent.Agent, error) {
	if err := c.name(name); err != nil {
		return agent.Agent{}, err
	}
	return c.Store.Rename(ctx, a, claim, name)
}

// Send implements registry.Registry.
func (c *Cleaned) Send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	s.Body, s.Reason = c.clean(s.Body), c.clean(s.Reason)
	return c.Store.Send(ctx, s)
}

// Read implements registry.Registry.
func (c *Cleaned) Read(ctx context.Context, r registry.Read) (mail.Letter, bool, error) {
	if entries := r.Entries; entries != nil {
		r.Entries = func(l mail.Letter) []history.Draft { return c.drafts(entries(l)) }
	}
	return c.Store.Read(ctx, r)
}

// KeepReplies implements registry.Replies.
func (c *Cleaned) KeepReplies(ctx context.Context, replies []registry.Reply) error {
	out := make([]registry.Reply, len(replies))
	for i, r := range replies {
		r.Text = c.clean(r.Text)
		out[i] = r
	}
	return c.Store.KeepReplies(ctx, out)
}

// name refuses a name that holds a credential: it could not be replaced without changing
// who is meant.
func (c *Cleaned) name(name string) error {
	if c.clean(name) == name {
		return nil
	}
	return fault.New(fault.InvalidName, "the name contains one of your credentials").WithHint("choose another")
}

// Drafts are drafts as they would be stored.
func (c *Cleaned) Drafts(drafts []history.Draft) []history.Draft { return c.drafts(drafts) }

// drafts are copies without credentials; what the caller has stays as it is.
func (c *Cleaned) drafts(drafts []history.Draft) []history.Draft {
	if drafts == nil {
		return nil
	}
	out := make([]history.Draft, len(drafts))
	for i, d := range drafts {
		d.Meta.Label, d.Meta.Reason = c.clean(d.Meta.Label), c.clean(d.Meta.Reason)
		if p := d.Meta.Permission; p != nil {
			cleaned := *p
			cleaned.Rule = c.clean(p.Rule)
			d.Meta.Permission = &cleaned
		}
		parts := make([]history.Part, len(d.Parts))
		for n, p := range d.Parts {
			parts[n] = c.part(p)
		}
		if d.Parts != nil {
			d.Parts = parts
		}
		out[i] = d
	}
	return out
}

// part returns a part without credentials. What a vendor signed and had to be changed is signed
// no more.
func (c *Cleaned) part(p history.Part) history.Part {
	before := p
	p.Text, p.Show, p.Malformed = c.clean(p.Text), c.clean(p.Show), c.clean(p.Malformed)
	p.Args = text.Strings(p.Args, c.clean)
	changed := p.Text != before.Text || p.Malformed != before.Malformed || string(p.Args) != string(before.Args) ||
		len(p.Opaque) > 0 && c.clean(string(p.Opaque)) != string(p.Opaque)
	if changed {
		p.Signature, p.Opaque = "", nil
	}
	return p
}
