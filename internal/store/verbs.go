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

// admit locks a living agent, checks the right to write for it, and takes the ids of n entries.
func (s *core) admit(ctx context.Context, tx Tx, name id.Agent, c agent.Claim, n int) (*agent.Agent, *writer, error) {
	a, now, ids, err := reader{tx, s.d}.lockDrawing(ctx, tx, name, n)
	if err != nil {
		return nil, nil, err
	}
	if err := agent.NeedLiving(a); err != nil {
		return nil, nil, err
	}
	p := s.writes(ctx, tx, ids)
	p.now = fromMicros(now)
	return &a, p, s.entitle(ctx, tx, &a, c, now)
}

// entitle checks the right to write for a locked agent. A passing writer that
// finds a lease that ran out shuts its holder out.
func (s *core) entitle(ctx context.Context, tx Tx, a *agent.Agent, c agent.Claim, now int64) error {
	lease, err := agent.Admit(*a, c, fromMicros(now))
	if err != nil || lease == a.Lease {
		return err
	}
	a.Lease = lease
	return writeLease(ctx, tx, a.ID, lease)
}

// Append implements registry.Registry.
func (s *Store) Append(ctx context.Context, name id.Agent, c agent.Claim, drafts ...history.Draft) ([]history.Entry, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	if err := registry.CheckDrafts(drafts); err != nil {
		return nil, err
	}
	var out []history.Entry
	err := s.write(ctx, "append", func(tx Tx) error {
		a, p, err := s.admit(ctx, tx, name, c, len(drafts))
		if err != nil {
			return err
		}
		head := a.Head
		if out, err = p.write(a, drafts...); err != nil {
			return err
		}
		s.moveReply(p, c, a, head)
		return p.flush(ctx, a)
	})
	if len(out) > 0 {
		err = seekOutcome(err, "message %d (`ramet log`)", out[0].ID)
	}
	return out, err
}

// Fork implements registry.Registry.
func (s *Store) Fork(ctx context.Context, f registry.Fork) ([]agent.Agent, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	entries := 1 + len(f.Entries)
	for _, c := range f.Children {
		entries += 1 + len(c.Entries)
	}
	var born []agent.Agent
	err := s.write(ctx, "fork", func(tx Tx) error {
		born = make([]agent.Agent, len(f.Children)) // again after a deadlock
		parent, p, err := s.admit(ctx, tx, f.Parent, f.Claim, entries)
		if err != nil {
			return err
		}
		for _, c := range f.Children {
			if err := s.nameFree(ctx, tx, c.Name); err != nil {
				return err
			}
		}
		for i, c := range f.Children {
			born[i] = registry.Born(*parent, c, p.at)
			if f.Holder != "" {
				if born[i].Lease, err = agent.Grant(born[i], f.Holder, p.now, f.Tenure); err != nil {
					return err
				}
			}
		}
		head := parent.Head
		parentEntries := append([]history.Draft{registry.ForkEntry(f.Children, f.Run)}, f.Entries...)
		if _, err := p.write(parent, parentEntries...); err != nil {
			return err
		}
		var reshaped []*agent.Agent
		for i, c := range f.Children {
			if err := p.insert(&born[i], c.Entries...); err != nil {
				return err
			}
			if _, ok := p.reshaped[&born[i]]; ok {
				reshaped = append(reshaped, &born[i])
			}
		}
		s.moveReply(p, f.Claim, parent, head)
		return p.flush(ctx, append(reshaped, parent)...)
	})
	if err != nil {
		return nil, seekOutcome(err, "agent %s (`ramet ps --all`)", f.Children[0].ID)
	}
	return born, nil
}

// moveReply lets the reply of an agent follow an entry that was written after head, beside the process that holds the
// agent, and rings for that process.
func (s *core) moveReply(p *writer, c agent.Claim, a *agent.Agent, head id.Message) {
	if !c.IsBeside() {
		return
	}
	p.later(`UPDATE replies SET after_id = $1 WHERE agent_uuid = $2 AND after_id = $3`, int64(a.Head), string(a.ID), int64(head))
	p.tell = append(p.tell, s.d.Announce(registry.RingForked, a.ID)...)
}

// nameFree refuses the name of a living agent. The unique index decides races.
func (s *core) nameFree(ctx context.Context, tx Tx, name string) error {
	if name == "" {
		return nil
	}
	a, ok, err := reader{tx, s.d}.Named(ctx, name)
	if err == nil && ok && a.Status == agent.Running {
		err = registry.NameTaken(name)
	}
	return err
}

// Rename implements registry.Registry.
func (s *Store) Rename(ctx context.Context, name id.Agent, c agent.Claim, to string) (agent.Agent, error) {
	if to != "" {
		if err := agent.CheckName(to); err != nil {
			return agent.Agent{}, err
		}
	}
	var out agent.Agent
	err := s.write(ctx, "rename", func(tx Tx) error {
		a, p, err := s.admit(ctx, tx, name, c, 1)
		if err != nil {
			return err
		}
		if out = *a; a.Name == to {
			return nil
		}
		if err := s.nameFree(ctx, tx, to); err != nil {
			return err
		}
		a.Name = to
		if _, err := p.write(a, registry.RenameEntry(to)); err != nil {
			return err
		}
		out = *a
		return p.flush(ctx, a)
	})
	return out, err
}

// Redact implements registry.Registry.
func (s *Store) Redact(ctx context.Context, name id.Agent, c agent.Claim, m id.Message) error {
	err := s.write(ctx, "redact", func(tx Tx) error {
		r := reader{tx, s.d}
		a, now, err := r.lock(ctx, name)
		if err != nil {
			return err
		}
		// The dead may be redacted too: a secret does not die with its agent.
		if err := s.entitle(ctx, tx, &a, c, now); err != nil {
			return err
		}
		e, err := r.Entry(ctx, m)
		if err != nil {
			return err
		}
		switch {
		case e.Agent != name:
			return fault.New(fault.NotFound, "message %d is not of agent %s", m, a.Label()).
				WithHint("it belongs to %s", e.Agent)
		case e.Content == nil:
			return s.dropReply(ctx, tx, name)
		case len(e.Content) == 0:
			return fault.New(fault.Conflict, "message %d is a %s entry and has no content to delete", m, e.Kind).
				WithHint("`ramet log --own` shows which messages have one")
		}
		if err := s.erase(ctx, tx, m); err != nil {
			return err
		}
		if err := s.dropReply(ctx, tx, name); err != nil {
			return err
		}
		p, err := s.newWriter(ctx, tx, 1)
		if err != nil {
			return err
		}
		if _, err := p.write(&a, registry.RedactEntry(m)); err != nil {
			return err
		}
		return p.flush(ctx, &a)
	})
	if err != nil {
		return err
	}
	// Even if it was redacted before: the scrub may have failed then.
	if err := s.d.Scrub(ctx); err != nil {
		return s.fail("scrub", err)
	}
	return nil
}

// erase deletes content, salt, and blobs that only this entry names.
func (s *core) erase(ctx context.Context, tx Tx, m id.Message) error {
	if err := s.d.LockTable(ctx, tx, "blobs"); err != nil {
		return err
	}
	for _, q := range []string{
		`UPDATE messages SET content = NULL, salt = NULL WHERE id = $1`,
		`DELETE FROM blobs WHERE hash IN (SELECT hash FROM blob_refs WHERE message_id = $1)
			AND NOT EXISTS (SELECT 1 FROM blob_refs o WHERE o.hash = blobs.hash AND o.message_id <> $1)`,
		`DELETE FROM blob_refs WHERE message_id = $1`,
	} {
		if _, err := tx.ExecContext(ctx, q, int64(m)); err != nil {
			return err
		}
	}
	return nil
}

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

// Drafts returns drafts as they would be stored.
func (c *Cleaned) Drafts(drafts []history.Draft) []history.Draft { return c.drafts(drafts) }

// drafts returns copies without credentials; what the caller has stays as it is.
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
