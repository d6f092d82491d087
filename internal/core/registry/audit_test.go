package registry

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/testkit"
)

// desk is a whole workspace made by hand: agent 0 with a message, a redacted
// one and a blob; a child that was renamed, wrote a letter and was killed.
type desk struct {
	agents  []agent.Agent
	records []history.Record
	letters []mail.Letter
	salts   [][]byte
	blobs   map[chain.Hash][]byte
	refs    []blobRef
}

const (
	zero = id.Agent("zero0000000000000000AA")
	kid  = id.Agent("kid00000000000000000AA")
)

var begun = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newDesk(tb testing.TB) *desk {
	tb.Helper()
	d := &desk{blobs: map[chain.Hash][]byte{}}
	d.agents = []agent.Agent{{ID: zero, Status: agent.Running, Cwd: "/w", Genesis: 1, CreatedAt: at(1)}}
	d.write(tb, 0, 1, Genesis(d.agents[0]))
	d.write(tb, 0, 2, say("hello"))
	d.write(tb, 0, 3, say("secret"))
	d.write(tb, 0, 4, say(strings.Repeat("long ", 4000)))
	d.write(tb, 0, 5, RedactEntry(3))
	d.records[2].Content, d.records[2].Salt = nil, nil
	child := Child{ID: kid, Name: "kid", Model: "m", Provider: "p"}
	born := Born(d.agents[0], child, at(7))
	born.Genesis = 7
	d.write(tb, 0, 6, ForkEntry([]Child{child}, ""))
	d.agents = append(d.agents, born)
	d.write(tb, 1, 7, Genesis(born))
	d.write(tb, 1, 8, say("mine"))
	d.write(tb, 1, 9, RenameEntry("other"))
	letter, salt := mail.Letter{ID: 1, Number: 1, From: kid, To: zero, Body: "dear"}, chain.NewSalt()
	d.letters, d.salts = []mail.Letter{letter, {ID: 2, Number: 2, To: zero, Body: "from the user"}}, [][]byte{salt[:], nil}
	d.write(tb, 1, 10, MailEntry(letter, chain.Commit(salt, []byte("dear")), ""))
	d.write(tb, 1, 11, KilledEntry("", "enough"))
	d.agents[1].Name, d.agents[1].Status, d.agents[1].EndReason, d.agents[1].EndedAt = "other", agent.Dead, "enough", at(11)
	return d
}

func at(m id.Message) time.Time { return begun.Add(time.Duration(m) * time.Second) }

func say(s string) history.Draft {
	return history.Draft{Kind: history.User, Parts: []history.Part{{Type: history.Text, Text: s}}}
}

// write links an entry to the end of an agent's history.
func (d *desk) write(tb testing.TB, who int, m id.Message, draft history.Draft) {
	tb.Helper()
	a := &d.agents[who]
	content, blobs, err := history.Encode(draft.Parts)
	testkit.OK(tb, err)
	for _, b := range blobs {
		d.blobs[b.Hash] = b.Data
		d.refs = append(d.refs, blobRef{m, b.Hash})
	}
	salt := chain.NewSalt()
	r := history.Record{Salt: salt[:], Commitment: chain.Commit(salt, content)}
	r.Entry = history.Entry{ID: m, Agent: a.ID, Kind: draft.Kind, Content: content, Meta: meta(tb, draft.Meta), CreatedAt: at(m)}
	d.link(&r, a.HeadHash)
	a.Head, a.HeadHash = m, r.Hash
	if draft.Kind.Reaches() {
		a.Own++
		a.Total++
	}
	Account(a, draft.Kind, draft.Meta)
	r.Seq = a.Own
	d.records = append(d.records, r)
}

func (d *desk) link(r *history.Record, prev chain.Hash) {
	r.Hash = chain.Link{ID: int64(r.ID), CreatedAt: r.CreatedAt.UnixMicro(), Agent: string(r.Agent), Kind: string(r.Kind), Meta: r.Meta,
		Commitment: r.Commitment, Prev: prev}.Hash()
}

func (d *desk) audit(heads []Head) (Report, error) {
	u := NewAuditor(heads)
	for _, a := range d.agents {
		if err := u.Agent(a, func() (int64, error) { return 3 + int64(a.Depth), nil }); err != nil {
			return Report{}, err
		}
	}
	for _, r := range d.records {
		if err := u.Record(r); err != nil {
			return Report{}, err
		}
	}
	for i, l := range d.letters {
		if err := u.Letter(l, d.salts[i]); err != nil {
			return Report{}, err
		}
	}
	for _, r := range d.refs {
		u.Ref(r.message, r.hash)
	}
	for h, data := range d.blobs {
		if err := u.Blob(h, data); err != nil {
			return Report{}, err
		}
	}
	return u.Report()
}
