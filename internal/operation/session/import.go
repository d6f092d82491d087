package session

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver/foreign"
)

// Import is the result of importing one session.
type Import struct {
	Session  foreign.Session
	Agent    agent.Agent // that it became; zero where only the plan was asked for, and it is new
	New      bool
	Entries  int // that were written, or would be
	Branches int // agents besides its own that were made, or would be
	Lines    int64
	Taken    int64
	Skipped  map[string]int64
	Unknown  map[string]int64 // lines that were kept as they came, by their type
	Used     *agent.Spending  // there, as the file tells, of what was written; nil: it does not tell
	Notes    []string         // what people should know
}

// Take imports a session, or what it grew by since it was imported. Branches become forks,
// sub-agents children. Nothing begins to work because of it. With plan nothing is written.
func (m *Imports) Take(ctx context.Context, f foreign.Found, plan bool) (Import, error) {
	if err := m.ws.person(ctx, "import sessions"); err != nil && !plan {
		return Import{}, err
	}
	w, err := m.open(ctx, f, plan)
	if err != nil {
		return Import{}, err
	}
	defer func() { w.src.Close() }()
	if w.src.ID == "" || len(w.src.Roots()) == 0 {
		return w.out, fault.New(fault.NotFound, "no conversation in %s", f.Path).WithHint("nothing was imported")
	}
	if err := w.find(ctx); err != nil {
		return w.out, err
	}
	if was := w.held.newest.Importer; !w.out.New && was != w.src.Reader { // it goes on as it was begun
		w.src.Close()
		f.Reader = was
		again, err := m.open(ctx, f, plan)
		if err != nil {
			return w.out, err
		}
		w = again
		if err := w.find(ctx); err != nil {
			return w.out, err
		}
	}
	if !plan {
		if _, err := m.ws.takeOver(ctx); err != nil {
			return w.out, err
		}
		if err := m.count(ctx); err != nil {
			return w.out, err
		}
	}
	err = w.bring(ctx)
	if w.stale {
		clear(m.calls)
	}
	return w.out, err
}

// open opens a session to carry it over.
func (m *Imports) open(ctx context.Context, f foreign.Found, plan bool) (*bringer, error) {
	src, err := foreign.Open(ctx, f, 0)
	if err != nil {
		return nil, err
	}
	w := &bringer{Imports: m, src: src, plan: plan}
	w.out = Import{Session: src.Session, Lines: src.Lines, Taken: src.Taken(), Skipped: src.Skipped, Unknown: src.Unknown}
	if src.Newer != "" {
		w.note("%s is supported: what ramet doesn't understand of it is kept unchanged", src.Newer)
	}
	return w, nil
}

// bringer carries one session over.
type bringer struct {
	*Imports
	src   *foreign.Source
	plan  bool
	held  *held
	out   Import
	jobs  []job
	stale bool // calls were written since they were read
}

// job is a node that stands at the end of an agent.
type job struct {
	agent id.Agent
	node  foreign.Node
}

func (w *bringer) note(format string, args ...any) {
	w.out.Notes = append(w.out.Notes, fmt.Sprintf(format, args...))
}

// find looks for the session among those that were imported.
func (w *bringer) find(ctx context.Context) error {
	list := w.known[w.src.Program+"/"+w.src.ID]
	for _, b := range slices.Backward(list) {
		stored := map[int64]position{}
		h, err := w.load(ctx, b, func(line history.Bytes, at position) { stored[line.Offset] = at })
		if err != nil {
			return err
		}
		h.positions = stored
		sum, ok, err := w.src.Prefix(h.newest.Bytes)
		if err != nil {
			return err
		}
		if ok && sum == h.newest.SHA256 {
			w.held = h
			w.out.Agent = w.agents[b.agent]
			return nil
		}
	}
	w.held = &held{positions: map[int64]position{}, tips: map[id.Agent]*tip{}}
	w.out.New = true
	if len(list) > 0 {
		w.note("the file was rewritten since it was imported: it becomes a new agent")
	}
	return nil
}

func (w *bringer) bring(ctx context.Context) error {
	roots, sides := w.src.Roots(), []foreign.Node{}
	if first := slices.IndexFunc(roots, func(n foreign.Node) bool { return !n.Side() }); first >= 0 { // else all of it is of sub-agents
		sides = slices.DeleteFunc(slices.Clone(roots), func(n foreign.Node) bool { return !n.Side() })
		roots = slices.DeleteFunc(roots, foreign.Node.Side)
	}
	switch {
	case w.out.New:
		if err := w.begin(ctx); err != nil {
			return err
		}
	case w.held.newest.Bytes != w.src.Bytes && !w.plan:
		about := w.about()
		if _, err := w.ws.Store.Append(ctx, w.held.main, agent.Passing(), history.Draft{Kind: history.Import, Meta: history.Meta{Import: &about}, Parts: wordsOf(about)}); err != nil {
			return err
		}
	}
	w.jobs = append(w.jobs, job{w.held.main, roots[0]})
	for _, root := range roots[1:] {
		if err := w.root(ctx, root); err != nil {
			return err
		}
	}
	if err := w.work(ctx); err != nil {
		return err
	}
	for _, side := range sides { // when their calls are there
		if err := w.root(ctx, side); err != nil {
			return err
		}
		if err := w.work(ctx); err != nil {
			return err
		}
	}
	return w.sendAll(ctx)
}

// work writes what waits, and what comes of it.
func (w *bringer) work(ctx context.Context) error {
	for len(w.jobs) > 0 {
		next := w.jobs[0]
		w.jobs = w.jobs[1:]
		if err := w.line(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// about returns the content of an import entry.
func (w *bringer) about() history.Imported {
	s := w.src
	out := history.Imported{Program: s.Program, Version: s.Version, Session: s.ID, Path: s.Path, SHA256: s.SHA256, Bytes: s.Bytes, Lines: s.Lines,
		Taken: s.Taken(), Skipped: s.Lines - s.Taken(), Importer: s.Reader, Cwd: s.Cwd, Model: s.Model, Title: text.Line(s.Called(), 200), Of: s.Of, Call: s.Call}
	if !s.Started.IsZero() {
		out.Started = s.Started.UTC().Format(time.RFC3339)
	}
	return out
}

// wordsOf is an import entry for people.
func wordsOf(i history.Imported) []history.Part {
	return []history.Part{{Type: history.Text, Text: fmt.Sprintf("imported from %s: %s, %d bytes, SHA-256 %s", i.Program, i.Path, i.Bytes, i.SHA256)}}
}

// begin makes the agent of the session.
func (w *bringer) begin(ctx context.Context) error {
	parent, entries, err := w.where(ctx)
	if err != nil {
		return err
	}
	about := w.about()
	told := fmt.Sprintf(importedNotice+"%s %s: session %s, file %s, SHA-256 %s. Proof begins here: that what follows is what the file says is shown by `ramet verify --source`; "+
		"what that program did before is not proved. Its tools have other names here, or are not here: use those that you have.",
		about.Program, about.Version, about.Session, about.Path, about.SHA256)
	if about.Call != "" {
		told += fmt.Sprintf(" It is what a sub-agent did for call %s of session %s.", about.Call, about.Of)
	}
	entries = append(entries, history.Draft{Kind: history.Import, Meta: history.Meta{Import: &about}, Parts: wordsOf(about)},
		history.Draft{Kind: history.Notice, Parts: []history.Part{{Type: history.Text, Text: told}}})
	for _, n := range w.out.Notes {
		entries = append(entries, history.Draft{Kind: history.Note, Parts: []history.Part{{Type: history.Text, Text: n}}})
	}
	born, err := w.fork(ctx, parent, makeSlug(w.src.Program, w.src.Called()), entries)
	if err != nil {
		return err
	}
	w.held.main, w.out.Agent = born, w.agents[born]
	if !w.plan {
		w.add(born, about)
	}
	return nil
}

// where is behind whom the session stands, and how its agent begins: at a wall, unless it
// begins with a part of another.
func (w *bringer) where(ctx context.Context) (id.Agent, []history.Draft, error) {
	zero, err := w.ws.Store.Zero(ctx)
	if err != nil {
		return "", nil, err
	}
	wall := []history.Draft{history.NewClear()}
	if up, entries, ok, err := w.subAgent(ctx); ok || err != nil {
		return up, entries, err
	}
	if w.src.Base.Session != "" {
		at, err := w.base(ctx)
		if err != nil || at != nil {
			return at.parent(), at.begins(), err
		}
	} else if up, ok := w.of(w.src.Program, w.src.Forked); ok && agent.NeedLiving(w.agents[up.agent]) == nil {
		w.note("it is a copy of session %s at that time, and continued separately", w.src.Forked)
		return up.agent, wall, nil
	}
	return zero.ID, wall, nil
}

// root gives what stands behind nothing an agent of its own.
func (w *bringer) root(ctx context.Context, node foreign.Node) error {
	if at, ok := w.stored(node.Items()[0]); ok {
		w.jobs = append(w.jobs, job{at.agent, node})
		return nil
	}
	why, up, entries := "this part of the file follows nothing", w.held.main, []history.Draft{history.NewClear()}
	switch {
	case node.Side():
		why = "this is what a sub-agent did"
		at, err := w.sideAgent(ctx, node)
		if err != nil {
			return err
		}
		if at != nil {
			up, entries = at.agent, behind(*at)
		}
	case node.Lost():
		why = "the line before this one is not in the file"
	}
	if !node.Side() {
		w.note("a part of the conversation has no beginning: it is an agent of its own")
	}
	born, err := w.fork(ctx, up, "", append(entries, history.Draft{Kind: history.Note, Parts: []history.Part{{Type: history.Text, Text: why}}}))
	if err != nil {
		return err
	}
	w.out.Branches++
	w.jobs = append(w.jobs, job{born, node})
	return nil
}

// mostNamesakes limits how many sessions that begin alike get names.
const mostNamesakes = 9

// fork makes an agent behind another one.
func (w *bringer) fork(ctx context.Context, parent id.Agent, name string, entries []history.Draft) (id.Agent, error) {
	if w.plan {
		fresh := id.NewAgent()
		w.held.tips[fresh] = &tip{}
		return fresh, nil
	}
	if err := w.send(ctx, parent); err != nil {
		return "", err
	}
	child := registry.Child{ID: id.NewAgent(), Name: name, Cwd: w.cwd(), Entries: entries}
	if agent.CheckName(name) != nil {
		child.Name = ""
	}
	born, err := w.ws.Agents().fork(ctx, parent, child, "")
	for n := 2; fault.Is(err, fault.Conflict) && child.Name != "" && n <= mostNamesakes; n++ {
		child.Name = fmt.Sprintf("%s-%d", name, n)
		born, err = w.ws.Agents().fork(ctx, parent, child, "")
	}
	if fault.Is(err, fault.Conflict) && child.Name != "" {
		child.Name = ""
		born, err = w.ws.Agents().fork(ctx, parent, child, "")
	}
	if err != nil {
		return "", err
	}
	w.agents[born.ID] = born
	w.below[parent] = append(w.below[parent], born.ID)
	w.held.tips[born.ID] = &tip{}
	return born.ID, nil
}

// cwd is the folder of the session where it lies in this project; elsewhere agents of this
// workspace have nothing to do.
func (w *bringer) cwd() string {
	project := w.ws.Place.Project
	if rel, err := filepath.Rel(project, w.src.Cwd); err == nil && project != "" && filepath.IsLocal(rel) && isFolder(w.src.Cwd) {
		return w.src.Cwd
	}
	return ""
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// stored returns the place of an entry, if all of it is stored.
func (w *bringer) stored(i foreign.Item) (position, bool) {
	var at position
	for _, one := range i.At {
		s, ok := w.held.positions[one.Offset]
		if !ok {
			return position{}, false
		}
		at = s
	}
	return at, true
}

// line writes a node and what follows it; other branches are put off.
func (w *bringer) line(ctx context.Context, j job) error {
	cur, node := j.agent, j.node
	ends := true // cur ends where we are
	var at position
	for {
		for _, item := range node.Items() {
			if s, ok := w.stored(item); ok {
				at, cur, ends = s, s.agent, false
				continue
			}
			if !ends {
				var err error
				if cur, err = w.reach(ctx, cur, at); err != nil {
					return err
				}
				ends = true
			}
			if err := w.put(ctx, cur, item); err != nil {
				return err
			}
		}
		kids := node.Kids()
		if len(kids) == 0 {
			return nil
		}
		main := w.main(kids, cur)
		for i, kid := range kids {
			if i == main {
				continue
			}
			if s, ok := w.stored(kid.Items()[0]); ok {
				w.jobs = append(w.jobs, job{s.agent, kid})
				continue
			}
			child, err := w.branch(ctx, cur, at, ends)
			if err != nil {
				return err
			}
			w.jobs = append(w.jobs, job{child, kid})
		}
		node = kids[main]
	}
}

// main is the branch that the agent goes on with: the one that it went on with already,
// else the one in which something was said last.
func (w *bringer) main(kids []foreign.Node, cur id.Agent) int {
	best := 0
	for i, kid := range kids {
		if s, ok := w.stored(kid.Items()[0]); ok && s.agent == cur {
			return i
		}
		if kid.Newest() > kids[best].Newest() {
			best = i
		}
	}
	return best
}

// reach is an agent that ends at a message: the one that has it, or a child that goes back
// to it.
func (w *bringer) reach(ctx context.Context, a id.Agent, at position) (id.Agent, error) {
	t := w.held.tips[a]
	if t.last == at.message && !t.touched && agent.NeedLiving(w.agents[a]) == nil {
		return a, nil
	}
	return w.branch(ctx, a, at, false)
}

// branch makes an agent that goes another way from where we are.
func (w *bringer) branch(ctx context.Context, a id.Agent, at position, ends bool) (id.Agent, error) {
	w.out.Branches++
	if ends {
		return w.fork(ctx, a, "", nil)
	}
	parent := a
	for p := w.agents[parent]; p.Status == agent.Dead && !p.IsZero(); p = w.agents[parent] {
		parent = p.Parent // the dead have no children; what they said cannot be gone on with
		at = position{}
	}
	if at.message == 0 {
		return w.fork(ctx, parent, "", []history.Draft{history.NewClear()})
	}
	return w.fork(ctx, parent, "", []history.Draft{history.NewRewind(at.message, "")})
}

// put writes an entry, sooner or later.
func (w *bringer) put(ctx context.Context, a id.Agent, item foreign.Item) error {
	fresh := slices.DeleteFunc(slices.Clone(item.At), func(b history.Bytes) bool { _, ok := w.held.positions[b.Offset]; return ok })
	w.out.Entries++
	if w.plan {
		for _, b := range fresh {
			w.held.positions[b.Offset] = position{agent: a}
		}
		return nil
	}
	said, err := w.src.Read(fresh)
	if err != nil {
		return err
	}
	w.stale = w.stale || givesTask(said.Parts)
	d := history.Draft{Kind: said.Kind, Parts: said.Parts, Meta: history.Meta{OriginalTime: said.Time, Source: history.FormatBytes(fresh)}}
	if said.Kind == history.Compact || said.Kind == history.Rewind {
		if err := w.send(ctx, a); err != nil {
			return err
		}
		if d, err = w.shape(ctx, a, d, said); err != nil {
			return err
		}
	}
	t := w.held.tips[a]
	t.drafts, t.at = append(t.drafts, d), append(t.at, fresh)
	if said.Used != nil {
		w.spent(t, said, len(fresh) == len(item.At))
	}
	for _, b := range fresh {
		t.size += int(b.Size)
	}
	if len(t.drafts) < batchDrafts && t.size < batchBytes {
		return nil
	}
	return w.send(ctx, a)
}

// shape gives a compact and a rewind the messages that they are about.
func (w *bringer) shape(ctx context.Context, a id.Agent, d history.Draft, said foreign.Said) (history.Draft, error) {
	var ids, turns []id.Message // turns: what stood before each
	before := id.Message(0)
	for e, err := range history.Play(ctx, w.ws.Store, a) {
		if err != nil {
			return d, err
		}
		if e.Kind == history.User && before > 0 {
			turns = append(turns, before)
		}
		before = e.ID
		if e.Kind != history.Notice || len(ids) > 0 { // that it was imported stays
			ids = append(ids, e.ID)
		}
	}
	if said.Kind == history.Rewind {
		if said.Turns < 1 || len(turns) == 0 {
			d.Kind, d.Parts = history.Note, []history.Part{{Type: history.Text, Text: "the program took back turns that are not here"}}
			return d, nil
		}
		d.Meta.Target = turns[max(len(turns)-said.Turns, 0)].String()
		return d, nil
	}
	if at, ok := w.src.Offset(said.Keep); ok {
		if s, there := w.held.positions[at]; there {
			n, found := slices.BinarySearchFunc(ids, s.message, func(have, want id.Message) int { return cmp.Compare(have, want) })
			if found {
				ids = ids[:n]
			}
		}
	}
	if len(ids) == 0 { // it summarises what is not here
		d.Kind = history.User
		return d, nil
	}
	d.Meta.StartID, d.Meta.EndID = ids[0].String(), ids[len(ids)-1].String()
	return d, nil
}
