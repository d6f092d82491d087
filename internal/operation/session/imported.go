package session

import (
	"context"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
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
