package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
)

const letterColumns = `id, number, coalesce(from_uuid, ''), to_uuid, body, created_at, coalesce(read_at, 0),
	coalesce(deleted_at, 0), coalesce(in_reply_to, 0), who, face`

// ofKernel is in from_uuid before the agent that a notice of the kernel is about.
const ofKernel = "kernel:"

// originOf returns the value of the column from_uuid.
func originOf(from, about id.Agent) string {
	if from == id.Kernel {
		return ofKernel + string(about)
	}
	return string(from)
}

func scanLetter(scan func(...any) error, more ...any) (mail.Letter, error) {
	var l mail.Letter
	var created, read, deleted int64
	err := scan(append([]any{&l.ID, &l.Number, &l.From, &l.To, &l.Body, &created, &read, &deleted, &l.InReplyTo, &l.Who, &l.Face}, more...)...)
	if about, ok := strings.CutPrefix(string(l.From), ofKernel); ok {
		l.From, l.About = id.Kernel, id.Agent(about)
	}
	l.CreatedAt, l.ReadAt, l.DeletedAt = fromMicros(created), fromMicros(read), fromMicros(deleted)
	return l, err
}

// Letters implements mail.Boxes.
func (r reader) Letters(ctx context.Context, owner id.Agent, f mail.Filter) ([]mail.Letter, error) {
	where, args := `WHERE to_uuid = $1`, []any{string(owner)}
	if !f.Deleted {
		where += ` AND deleted_at IS NULL`
	}
	if f.Unread {
		where += ` AND read_at IS NULL`
	}
	if f.From != nil && *f.From == "" {
		where += ` AND from_uuid IS NULL`
	} else if f.From != nil {
		where += ` AND from_uuid IN ($2, $3)`
		args = append(args, string(*f.From), originOf(id.Kernel, *f.From))
	}
	out, err := collect(ctx, r.q, func(rows *sql.Rows) (mail.Letter, error) { return scanLetter(rows.Scan) },
		`SELECT `+letterColumns+` FROM mail `+where+` ORDER BY (read_at IS NOT NULL), number`, args...)
	if err != nil {
		return nil, r.fail("read mail", err)
	}
	return out, nil
}

// Unread implements mail.Boxes.
func (r reader) Unread(ctx context.Context, owner id.Agent) (n int64, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT count(*) FROM mail WHERE to_uuid = $1 AND read_at IS NULL AND deleted_at IS NULL`, string(owner)).Scan(&n)
	if err != nil {
		return 0, r.fail("count mail", err)
	}
	return n, nil
}

// letter reads one letter that is not hidden.
func (r reader) letter(ctx context.Context, owner id.Agent, where string, args ...any) (mail.Letter, bool, error) {
	row := r.q.QueryRowContext(ctx, `SELECT `+letterColumns+` FROM mail
		WHERE to_uuid = $1 AND deleted_at IS NULL AND `+where, append([]any{string(owner)}, args...)...)
	l, err := scanLetter(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return l, false, nil
	}
	return l, err == nil, err
}

func noLetter(number int64) error {
	return fault.New(fault.NotFound, "no mail %d in this mailbox", number).WithHint("`ramet mail` lists them")
}

// room refuses a letter to a mailbox that is full.
func (r reader) room(ctx context.Context, to agent.Agent, most int) error {
	if most == 0 {
		return nil
	}
	var n int
	if err := r.q.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM mail WHERE to_uuid = $1 AND read_at IS NULL AND deleted_at IS NULL
		`+atMost+`$2) AS waiting`, string(to.ID), most).Scan(&n); err != nil {
		return err
	}
	if n < most {
		return nil
	}
	return fault.New(fault.Conflict, "%d unread mail messages fill the mailbox of %s", n, to.Label()).
		WithHint("wait until it has read some; nothing was sent")
}

// Send implements registry.Registry.
func (s letters) Send(ctx context.Context, m registry.Send) (mail.Letter, error) {
	if err := mail.CheckBody(m.Body); err != nil {
		return mail.Letter{}, err
	}
	var out mail.Letter
	err := s.write(ctx, "send", func(tx Tx) error {
		r := reader{tx, s.d}
		// One order for everybody, or two that write to each other would wait
		// for each other.
		if m.From.Keeps() && m.From < m.To {
			if _, _, err := r.lock(ctx, m.From); err != nil {
				return err
			}
		}
		to, now, err := r.lock(ctx, m.To)
		if err != nil {
			return err
		}
		if err := agent.NeedLiving(to); err != nil {
			return err
		}
		if err := r.room(ctx, to, m.Most); err != nil {
			return err
		}
		out = mail.Letter{From: m.From, About: m.About, To: m.To, Body: m.Body, CreatedAt: fromMicros(now)}
		if by := history.ActorOf(ctx); m.From == "" && by != nil {
			out.Who, out.Face = by.Who, string(by.Face)
		}
		if m.InReplyTo != 0 {
			answered, ok, err := r.letter(ctx, m.From, `number = $2`, m.InReplyTo)
			if err != nil {
				return err
			}
			if !ok {
				return noLetter(m.InReplyTo)
			}
			out.InReplyTo = answered.ID
		}
		if out.ID, err = s.d.NextLetter(ctx, tx); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(number), 0) + 1 FROM mail WHERE to_uuid = $1`,
			string(m.To)).Scan(&out.Number); err != nil {
			return err
		}
		salt := chain.NewSalt()
		post := Statement{Query: `INSERT INTO mail (id, number, from_uuid, to_uuid, body, salt, created_at, in_reply_to, who, face)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, Args: []any{out.ID, out.Number, null(originOf(m.From, m.About)), string(m.To), m.Body, salt[:],
			now, null(out.InReplyTo), out.Who, out.Face}}
		tell := s.d.Announce(registry.RingMail, m.To)
		if !m.From.Keeps() {
			return s.d.Run(ctx, tx, append([]Statement{post}, tell...), true)
		}
		from, p, err := s.admit(ctx, tx, m.From, m.Claim, 1)
		if err != nil {
			return err
		}
		head := from.Head
		if _, err := p.write(from, registry.MailEntry(out, chain.Commit(salt, []byte(m.Body)), m.Reason)); err != nil {
			return err
		}
		p.put, p.tell = append(p.put, post), tell
		s.moveReply(p, m.Claim, from, head)
		return p.flush(ctx, from)
	})
	return out, seekOutcome(err, "mail %d of agent %s (`ramet mail`)", out.Number, out.To)
}

// Read implements registry.Registry.
func (s letters) Read(ctx context.Context, rd registry.Read) (mail.Letter, bool, error) {
	var out mail.Letter
	var found bool
	err := s.write(ctx, "read mail", func(tx Tx) error {
		r := reader{tx, s.d}
		_, now, err := r.lock(ctx, rd.Owner)
		if err != nil {
			return err
		}
		if rd.Number == 0 {
			out, found, err = r.letter(ctx, rd.Owner, `read_at IS NULL ORDER BY number LIMIT 1`)
		} else {
			out, found, err = r.letter(ctx, rd.Owner, `number = $2`, rd.Number)
		}
		switch {
		case err != nil:
			return err
		case !found && rd.Number != 0:
			return noLetter(rd.Number)
		case !found:
			return nil
		}
		if out.Unread() {
			out.ReadAt = fromMicros(now)
			if _, err := tx.ExecContext(ctx, `UPDATE mail SET read_at = $2 WHERE id = $1`, out.ID, now); err != nil {
				return err
			}
		}
		for _, number := range rd.Also {
			if _, err := tx.ExecContext(ctx, `UPDATE mail SET read_at = $3 WHERE to_uuid = $1 AND number = $2 AND read_at IS NULL`,
				string(rd.Owner), number, now); err != nil {
				return err
			}
		}
		if rd.Entries == nil {
			return nil
		}
		drafts := rd.Entries(out)
		if err := registry.CheckDrafts(drafts); err != nil {
			return err
		}
		owner, p, err := s.admit(ctx, tx, rd.Owner, rd.Claim, len(drafts))
		if err != nil {
			return err
		}
		if _, err := p.write(owner, drafts...); err != nil {
			return err
		}
		return p.flush(ctx, owner)
	})
	return out, found && err == nil, err
}

// Hide implements mail.Boxes.
func (s letters) Hide(ctx context.Context, owner id.Agent, number int64) error {
	return s.write(ctx, "delete mail", func(tx Tx) error {
		r := reader{tx, s.d}
		_, now, err := r.lock(ctx, owner)
		if err != nil {
			return err
		}
		l, ok, err := r.letter(ctx, owner, `number = $2`, number)
		if err != nil {
			return err
		}
		if !ok {
			return noLetter(number)
		}
		_, err = tx.ExecContext(ctx, `UPDATE mail SET deleted_at = $2 WHERE id = $1`, l.ID, now)
		return err
	})
}
