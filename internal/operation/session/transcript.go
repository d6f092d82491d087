package session

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

// Exporting chooses the parts of a transcript.
type Exporting struct {
	Alone bool // without the agents below
	foreign.TranscriptHiding
}

// mostChanges bounds the differences of files in a transcript, in bytes.
const mostChanges = 32 << 20

// Transcript is an agent's conversation and those of the agents below it, each from the
// newest wall on, with what proves them.
func (w History) Transcript(ctx context.Context, a agent.Agent, o Exporting) (*foreign.Transcript, error) {
	agents, err := w.below(ctx, a, o.Alone)
	if err != nil {
		return nil, err
	}
	book := &foreign.Transcript{Format: foreign.TranscriptFormat, Made: public.Stamp(w.ws.Now()), Agent: a.ID, Blobs: map[string]foreign.TranscriptBlob{}}
	t := &teller{w: w.ws, book: book, hide: o.TranscriptHiding, agents: map[id.Agent]agent.Agent{}}
	err = w.ws.Store.Proofs(ctx, func(log history.Proofs) error {
		t.log = log
		for _, one := range agents {
			if err := t.agent(ctx, one); err != nil {
				return err
			}
		}
		return t.stretches(ctx)
	})
	if err != nil {
		return nil, err
	}
	return book, t.changes(ctx)
}

// below lists an agent and those below it, parents before children.
func (w History) below(ctx context.Context, a agent.Agent, alone bool) ([]agent.Agent, error) {
	out := []agent.Agent{a}
	if alone {
		return out, nil
	}
	all, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: true})
	if err != nil {
		return nil, err
	}
	kids := map[id.Agent][]agent.Agent{}
	for _, one := range all {
		kids[one.Parent] = append(kids[one.Parent], one)
	}
	for i := 0; i < len(out); i++ {
		out = append(out, kids[out[i].ID]...)
	}
	return out, nil
}

// teller fills a book.
type teller struct {
	w      *Workspace
	log    history.Proofs
	book   *foreign.Transcript
	hide   foreign.TranscriptHiding
	agents map[id.Agent]agent.Agent
	ranges []history.Range
}

// agent puts one into the tree.
func (t *teller) agent(ctx context.Context, a agent.Agent) error {
	ranges, err := history.BuildRanges(ctx, t.log, a.ID)
	if err != nil {
		return err
	}
	in, err := history.Membership(ctx, t.log, a.ID)
	if err != nil {
		return err
	}
	one := foreign.TranscriptAgent{UUID: a.ID, Name: t.hide.Name(a.Name), Status: string(a.Status), Parent: a.Parent, Ranges: ranges, Out: []id.Message{},
		Tokens: a.Spent.Tokens, Cost: a.Spent.Cost}
	if a.Model != "" {
		one.Model = t.hide.Name(llm.Ref{Vendor: a.Provider, Name: a.Model}.String())
	}
	if _, there := t.agents[a.Parent]; !there {
		one.Parent = ""
	}
	for _, r := range ranges {
		for e, err := range t.log.QueryRange(ctx, r, history.Selection{}) {
			if err != nil {
				return err
			}
			if (e.Kind.Reaches() || e.Kind == history.Compact) && !in(e) {
				one.Out = append(one.Out, e.ID)
			}
			if e.Agent == a.ID {
				one.Head = e.Hash.String()
			}
		}
	}
	if own := ranges[len(ranges)-1]; one.Head == "" && own.Start != 0 { // nothing was said since it was cleared
		e, err := t.log.Entry(ctx, own.Start)
		if err != nil {
			return err
		}
		one.Head = e.Hash.String()
	}
	t.agents[a.ID] = a
	t.book.Agents = append(t.book.Agents, one)
	t.ranges = append(t.ranges, ranges...)
	return nil
}

// stretches reads every entry once, whoever looks back on it.
func (t *teller) stretches(ctx context.Context) error {
	for _, r := range mergeRanges(t.ranges) {
		s := foreign.TranscriptStretch{Agent: r.Agent, On: r.Start, Entries: []foreign.TranscriptEntry{}}
		_, bounded := r.End.Limit()
		s.Last = !bounded
		if r.Start == 0 {
			lineage, err := t.log.Lineage(ctx, r.Agent)
			if err != nil {
				return err
			}
			s.On = lineage[0].ForkMessage
		}
		if s.On != 0 {
			e, err := t.log.Entry(ctx, s.On)
			if err != nil {
				return err
			}
			s.Prev = e.Hash.String()
		}
		var records []history.Record // one query is read to its end before blobs are
		for r, err := range t.log.Records(ctx, r) {
			if err != nil {
				return err
			}
			records = append(records, r)
		}
		for _, r := range records {
			e, err := t.book.Record(r, t.hide, func(h chain.Hash) ([]byte, error) { return t.log.Blob(ctx, h) })
			if err != nil {
				return err
			}
			s.Entries = append(s.Entries, e)
		}
		t.book.Stretches = append(t.book.Stretches, s)
	}
	return nil
}

// mergeRanges joins ranges of one agent that overlap.
func mergeRanges(list []history.Range) []history.Range {
	end := func(r history.Range) id.Message {
		if m, ok := r.End.Limit(); ok {
			return m
		}
		return 1<<63 - 1
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b history.Range) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Start, b.Start))
	})
	var out []history.Range
	for _, r := range list {
		if n := len(out) - 1; n >= 0 && out[n].Agent == r.Agent && r.Start <= end(out[n]) {
			if end(r) > end(out[n]) {
				out[n].End = r.End
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// changes adds what happened to files.
func (t *teller) changes(ctx context.Context) error {
	left := mostChanges
	for i := range t.book.Stretches {
		s := &t.book.Stretches[i]
		a, ok := t.agents[s.Agent]
		if !ok {
			continue // of an ancestor: its files are not asked for
		}
		for j := range s.Entries {
			e := &s.Entries[j]
			if e.Kind != history.Files || left <= 0 {
				continue
			}
			changed, err := t.w.Files().DiffState(ctx, a, e.ID)
			if ctx.Err() != nil {
				return err
			}
			if err != nil {
				e.Changes = []foreign.TranscriptChange{t.hide.Changed(foreign.TranscriptChange{Note: "the files cannot be compared: " + err.Error()})}
				continue
			}
			for _, c := range changed {
				left -= len(c.Diff)
				e.Changes = append(e.Changes, t.hide.Changed(foreign.TranscriptChange{Path: c.Path, Verb: c.Verb, Diff: c.Diff, Note: c.Note}))
			}
		}
	}
	return nil
}

// importedNotice is the beginning of the notice of an import.
const importedNotice = "This conversation was imported from "

// WriteSession writes an agent's context as a session of another program.
func (w History) WriteSession(ctx context.Context, a agent.Agent, program string, to io.Writer) (*foreign.Writer, error) {
	about := foreign.Session{Cwd: a.Cwd, Started: w.ws.Now().UTC().Truncate(time.Millisecond)}
	if about.Cwd == "" {
		about.Cwd = w.ws.Place.Project
	}
	if a.Model != "" {
		about.Model = llm.Ref{Vendor: a.Provider, Name: a.Model}.String()
	}
	out, err := foreign.NewWriter(program, about, to)
	if err != nil {
		return nil, err
	}
	err = w.ws.Store.View(ctx, func(log history.Log) error {
		var all []history.Entry // one query is read to its end before blobs are
		for e, err := range history.Play(ctx, log, a.ID) {
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		for _, e := range all {
			parts, err := e.Parts()
			if err != nil {
				return err
			}
			if err := history.Fill(parts, func(h chain.Hash) ([]byte, error) { return log.Blob(ctx, h) }); err != nil {
				return err
			}
			if e.Kind == history.Notice && strings.HasPrefix(history.Plain(parts), importedNotice) {
				continue
			}
			at := e.CreatedAt
			if m, err := e.Decode(); err == nil && m.OriginalTime != "" {
				if t, err := time.Parse(time.RFC3339Nano, m.OriginalTime); err == nil {
					at = t
				}
			}
			if err := out.Add(e.Kind, parts, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, out.Close()
}
