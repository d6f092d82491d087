package session

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
)

// Imports knows what was imported into a workspace, and imports more. It is used by one
// goroutine.
type Imports struct {
	ws     *Workspace
	known  map[string][]brought    // by program and session
	below  map[id.Agent][]id.Agent // children of every agent
	origin map[id.Agent]bool       // agents that an import made for a session
	agents map[id.Agent]agent.Agent
	calls  map[id.Agent]*calls // of sessions, that sub-agents were looked for in

	answers map[answer]id.Agent // that were counted, and for which import; nil: nobody looked yet
}

// brought is a session that was imported.
type brought struct {
	agent id.Agent
	first history.Imported
}

// heading limits the entries of an agent before the one that describes its import.
const heading = 5

// Imports looks at what was imported so far.
func (w History) Imports(ctx context.Context) (*Imports, error) {
	m := &Imports{ws: w.ws, known: map[string][]brought{}, below: map[id.Agent][]id.Agent{}, origin: map[id.Agent]bool{}, agents: map[id.Agent]agent.Agent{}, calls: map[id.Agent]*calls{}}
	all, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: true})
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		m.agents[a.ID] = a
		m.below[a.Parent] = append(m.below[a.Parent], a.ID)
		if a.IsZero() {
			continue
		}
		seen := 0
		for e, err := range w.ws.Store.QueryRange(ctx, history.Range{Agent: a.ID}, history.Selection{}) {
			if err != nil {
				return nil, err
			}
			if e.Kind == history.Import {
				meta, err := e.Decode()
				if err != nil {
					return nil, err
				}
				if meta.Import != nil {
					m.add(a.ID, *meta.Import)
				}
				break
			}
			if seen++; seen == heading {
				break
			}
		}
	}
	return m, nil
}

func (m *Imports) add(a id.Agent, i history.Imported) {
	key := i.Program + "/" + i.Session
	m.known[key] = append(m.known[key], brought{a, i})
	m.origin[a] = true
}

// tip is the end of what was imported into an agent.
type tip struct {
	last    id.Message
	touched bool // somebody went on from there
	drafts  []history.Draft
	at      [][]history.Bytes // of the drafts
	size    int
}

// position is the place of a line of a source.
type position struct {
	agent   id.Agent
	message id.Message
}

// held describes the stored part of a session.
type held struct {
	newest    history.Imported
	positions map[int64]position // of lines, by their offset in the source
	tips      map[id.Agent]*tip
	main      id.Agent
}

// load reads what is stored of a session, of its own agent and those that branch off, and
// tells where each line stands.
func (m *Imports) load(ctx context.Context, b brought, stands func(history.Bytes, position)) (*held, error) {
	h := &held{newest: b.first, tips: map[id.Agent]*tip{}, main: b.agent}
	for _, a := range m.family(b.agent, true) {
		t := &tip{}
		h.tips[a] = t
		for e, err := range m.ws.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{}) {
			if err != nil {
				return nil, err
			}
			meta, err := e.Decode()
			if err != nil {
				return nil, err
			}
			if meta.Import != nil && a == b.agent {
				h.newest = *meta.Import
			}
			at, ok := history.ParseBytes(meta.Source)
			if !ok {
				t.touched = t.touched || t.last > 0 && (e.Kind.Reaches() || e.Kind.Shapes())
				continue
			}
			for _, one := range at {
				stands(one, position{a, e.ID})
			}
			t.last = e.ID
		}
	}
	return h, nil
}

// of finds the session's own agent among those that were imported; the newest of several.
func (m *Imports) of(program, session string) (brought, bool) {
	list := m.known[program+"/"+session]
	if session == "" || len(list) == 0 {
		return brought{}, false
	}
	return list[len(list)-1], true
}

// Has reports whether a session was imported.
func (m *Imports) Has(s foreign.Session) bool {
	_, ok := m.of(s.Program, s.ID)
	return ok
}

// makeSlug returns a name for an agent, made of the program and the title of its session.
func makeSlug(program, called string) string {
	var b strings.Builder
	b.WriteString(program)
	dash := true
	for _, r := range strings.ToLower(called) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if dash {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			dash = false
		} else {
			dash = true
		}
		if b.Len() >= 40 {
			break
		}
	}
	return b.String()
}

// How much is written at once.
const (
	batchDrafts = 512
	batchBytes  = 4 << 20
)

// send writes what waits for an agent, and records where it is.
func (w *bringer) send(ctx context.Context, a id.Agent) error {
	t := w.held.tips[a]
	if t == nil || len(t.drafts) == 0 {
		return nil
	}
	entries, err := w.ws.Store.Append(ctx, a, agent.Passing(), t.drafts...)
	for i, e := range entries {
		for _, one := range t.at[i] {
			w.held.positions[one.Offset] = position{a, e.ID}
		}
		if len(t.at[i]) > 0 {
			t.last = e.ID
		}
	}
	t.drafts, t.at, t.size = nil, nil, 0
	return err
}

// sendAll writes what waits for any agent.
func (w *bringer) sendAll(ctx context.Context) error {
	for a := range w.held.tips {
		if err := w.send(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// spent writes down what an answer used before it was imported. It counts for no budget: no user here
// pays for it again. Of an answer whose other lines were imported before, that is written already.
func (w *bringer) spent(t *tip, said foreign.Said, whole bool) {
	u := *said.Used
	if u.Model == "" {
		u.Model = w.src.Model
	}
	if w.twice(said.Time, u) {
		if last := &t.drafts[len(t.drafts)-1]; last.Kind == history.Usage {
			last.Meta.Driver = &history.Driver{Name: w.src.Program, Version: w.src.Version, Attested: history.FromFile}
		}
		return
	}
	if u.Cost == 0 {
		u.Cost = int64(costOf(u))
	}
	about := &history.Driver{Name: w.src.Program, Version: w.src.Version, Attested: history.FromFile, Used: &u}
	last := &t.drafts[len(t.drafts)-1]
	switch {
	case last.Kind == history.Usage: // a line of its own
		last.Meta.Driver = about
	case !whole:
		return
	default:
		t.drafts = append(t.drafts, history.Draft{Kind: history.Usage, Meta: history.Meta{Driver: about, OriginalTime: said.Time}})
		t.at = append(t.at, nil)
	}
	if w.out.Used == nil {
		w.out.Used = &agent.Spending{}
	}
	*w.out.Used = w.out.Used.Plus(agent.Spending{Tokens: u.Tokens(), Cost: u.Cost})
}

// answer is one that was counted: what another program wrote down of it, and when to the millisecond.
type answer struct {
	program, model, time              string
	input, output, cacheRead, written int64
}

func answerOf(program, at string, u history.Used) answer {
	return answer{program, u.Model, at, u.Input, u.Output, u.CacheRead, u.CacheWrite}
}

// twice reports whether an answer was counted already, in another import of it: other programs fork by copying the file.
// The first import records what it used.
func (w *bringer) twice(at string, u history.Used) bool {
	if at == "" {
		return false
	}
	a := answerOf(w.src.Program, at, u)
	of, there := w.answers[a]
	if !there {
		w.answers[a] = w.held.main
	}
	return there && of != w.held.main
}

// count reads which answers were counted, once for all imports.
func (m *Imports) count(ctx context.Context) error {
	if m.answers != nil {
		return nil
	}
	answers := map[answer]id.Agent{}
	for _, list := range m.known {
		for _, b := range list {
			for _, a := range m.family(b.agent, true) {
				for e, err := range m.ws.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Told: true}) {
					if err != nil {
						return err
					}
					meta, err := e.Decode()
					if err != nil {
						return err
					}
					if d := meta.Driver; d != nil && d.Attested == history.FromFile && d.Used != nil && meta.OriginalTime != "" {
						answers[answerOf(d.Name, meta.OriginalTime, *d.Used)] = b.agent
					}
				}
			}
		}
	}
	m.answers = answers
	return nil
}

// family lists a session's own agent and those below it; with own, only its branches, not other sessions.
func (m *Imports) family(a id.Agent, own bool) []id.Agent {
	out := []id.Agent{a}
	for i := 0; i < len(out); i++ {
		for _, child := range m.below[out[i]] {
			if !own || !m.origin[child] {
				out = append(out, child)
			}
		}
	}
	return out
}

// costOf returns the cost by the prices that are known here; 0: unknown.
func costOf(u history.Used) llm.Money {
	vendor, name, _ := strings.Cut(u.Model, "/")
	v, err := catalog.Find(vendor)
	if err != nil {
		return 0
	}
	price, ok := v.Price(name)
	if !ok {
		return 0
	}
	return price.Cost(llm.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning})
}

// Sourced is the proof that entries are what a file says.
type Sourced struct {
	Agent    agent.Agent
	Imported history.Imported
	Entries  int // that are exactly what their lines say
	Lines    int64
	Redacted int
	Since    int64 // bytes that the file grew by since
}

// CompareSource compares an import with its file, entry by entry: each is what its lines say, no
// line is in two, none that says something is in none. HISTORY_DAMAGED: it is not so.
func (w History) CompareSource(ctx context.Context, f foreign.Found) (Sourced, error) {
	m, err := w.Imports(ctx)
	if err != nil {
		return Sourced{}, err
	}
	now, err := foreign.Open(ctx, f, 0)
	if err != nil {
		return Sourced{}, err
	}
	defer now.Close()
	list := m.known[now.Program+"/"+now.ID]
	if len(list) == 0 {
		return Sourced{}, fault.New(fault.NotFound, "session %s of %s was not imported into this workspace", now.ID, now.Program).
			WithHint("`ramet import %s` does it", f.Path)
	}
	for _, b := range slices.Backward(list) {
		h, err := m.load(ctx, b, func(history.Bytes, position) {})
		if err != nil {
			return Sourced{}, err
		}
		if sum, ok, err := now.Prefix(h.newest.Bytes); err != nil {
			return Sourced{}, err
		} else if !ok || sum != h.newest.SHA256 {
			continue
		}
		out := Sourced{Agent: m.agents[b.agent], Imported: h.newest, Since: now.Bytes - h.newest.Bytes}
		src, err := as(ctx, now, f, h.newest.Importer)
		if err != nil {
			return out, err
		}
		defer src.Close()
		err = w.compareSource(ctx, src, h, &out)
		return out, err
	}
	return Sourced{}, fault.New(fault.HistoryDamaged, "%s is not the file that was imported: its SHA-256 is another", f.Path).
		WithHint("it was changed since, or it is another copy; `ramet log --own` of the agent tells which was imported")
}

// as returns a source as the reader of a version reads it: entries are compared with what made them.
func as(ctx context.Context, src *foreign.Source, f foreign.Found, reader int) (*foreign.Source, error) {
	if src.Reader == reader {
		return src, nil
	}
	f.Reader = reader
	return foreign.Open(ctx, f, 0)
}

// compareSource holds all entries of an import against the source.
func (w History) compareSource(ctx context.Context, src *foreign.Source, h *held, out *Sourced) error {
	seen := make([]bool, src.Records())
	for a := range h.tips {
		for e, err := range w.ws.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{}) {
			if err != nil {
				return err
			}
			meta, err := e.Decode()
			if err != nil {
				return err
			}
			at, ok := history.ParseBytes(meta.Source)
			if !ok {
				continue
			}
			for _, one := range at {
				i, ok := src.Index(one.Offset)
				if !ok {
					return fault.New(fault.HistoryDamaged, "agent %s message %d: no line begins at byte %d", a, e.ID, one.Offset)
				}
				if seen[i] {
					return fault.New(fault.HistoryDamaged, "agent %s message %d: the line at byte %d is in another entry too", a, e.ID, one.Offset)
				}
				seen[i] = true
			}
			if e.Content == nil {
				out.Redacted++
				continue
			}
			if err := w.same(src, e, meta, at); err != nil {
				return err
			}
			out.Entries++
		}
	}
	for i, at := range src.Stretches() {
		if at.Offset < h.newest.Bytes && !seen[i] {
			return fault.New(fault.HistoryDamaged, "the line at byte %d of %s is in no entry", at.Offset, src.Path).
				WithHint("repeat the command to continue an interrupted import")
		}
	}
	out.Lines = h.newest.Lines
	return nil
}

// same compares one entry with its lines.
func (w History) same(src *foreign.Source, e history.Entry, meta history.Meta, at []history.Bytes) error {
	wrong := fault.New(fault.HistoryDamaged, "agent %s message %d is not what its lines say (bytes %s)", e.Agent, e.ID, meta.Source)
	said, err := src.Read(at)
	if err != nil {
		return wrong
	}
	if e.Kind == history.Rewind {
		if said.Kind != history.Rewind {
			return wrong
		}
		return nil
	}
	draft := w.ws.Store.Drafts([]history.Draft{{Kind: said.Kind, Parts: said.Parts}})[0]
	content, _, err := history.Encode(draft.Parts)
	shaped := said.Kind == history.Compact && e.Kind == history.User || said.Kind == history.Rewind && e.Kind == history.Note
	if err != nil || said.Kind != e.Kind && !shaped || said.Time != meta.OriginalTime || said.Kind != history.Rewind && !bytes.Equal(content, e.Content) {
		return wrong
	}
	return nil
}
