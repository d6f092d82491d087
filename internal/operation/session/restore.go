package session

import (
	"context"
	"encoding/json"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/files"
)

// StateAt is the state of an agent's files when a message was written; 0: the newest.
func (w Files) StateAt(ctx context.Context, a agent.Agent, at id.Message) (history.Stated, error) {
	if at != 0 {
		if err := history.Lookup(ctx, w.ws.Store, a.ID, at); err != nil {
			return history.Stated{}, err
		}
	}
	var found history.Stated
	var ok bool
	err := w.ws.Store.View(ctx, func(log history.Log) (err error) {
		found, ok, err = history.StateAt(ctx, log, a.ID, at)
		return err
	})
	if err == nil && !ok {
		err = noState(a, at)
	}
	return found, err
}

func noState(a agent.Agent, at id.Message) error {
	f := fault.New(fault.NotFound, "agent %s has no state of its files", a.Label())
	if at != 0 {
		f = fault.New(fault.NotFound, "agent %s has no state of its files at message %d", a.Label(), at)
	}
	return f.WithHint("states are taken when a turn may change files; `ramet files %s --states` lists them", a.Label())
}

// folderOf is the folder of a state, if it is on this machine.
func (w Files) folderOf(a agent.Agent, s history.State) (*files.PastFolder, error) {
	dir := s.Folder
	if dir == "" {
		var err error
		if dir, err = w.ws.Folder(a, ""); err != nil {
			return nil, err
		}
	}
	return w.Past().Folder(dir)
}

// stateHash is the root of a state that is kept here.
func (w Files) stateHash(s history.State) (chain.Hash, error) {
	h, err := chain.ParseHash(s.Root)
	if err != nil {
		return h, fault.New(fault.HistoryDamaged, "a state of files has no root: %w", err)
	}
	if _, err := w.Past().Store().Refresh(); err != nil {
		return h, err
	}
	if !w.Past().Store().Has(h) { // another host may have it
		if err := w.Past().Store().Pull(context.Background()); err != nil {
			return h, err
		}
	}
	if !w.Past().Store().Has(h) {
		return h, fault.New(fault.NotFound, "the state %.12s is not kept here", s.Root).
			WithHint("states are stored next to the database of the machine where the agent worked, until `ramet gc --files` drops them; hosts share them with files_shared")
	}
	return h, nil
}

// ListFiles visits the files of a state. has says whether a content can be had.
func (w Files) ListFiles(s history.State, visit func(path string, n files.Node, has bool) error) error {
	h, err := w.stateHash(s)
	if err != nil {
		return err
	}
	store := w.Past().Store()
	inTrash, err := w.Past().Trash().Contents()
	if err != nil {
		return err
	}
	return files.List(store, h, func(p string, n files.Node) error {
		return visit(p, n, n.Kind == files.Dir || n.Kind != files.Repo && store.Has(n.Hash) || len(inTrash[n.Hash]) > 0)
	})
}

// Restoring asks for an agent's files to be what they were.
type Restoring struct {
	Agent agent.Agent
	At    id.Message // when that message was written
	Last  bool       // before its last turn, or restore, instead
	Paths []string   // and what is below; none: all
	Force bool       // also what others could have changed
	// Commands restores also what changed while a command of the agent was running.
	Commands bool
	Plan     bool // only say what would happen
	// Rewind is an entry that is written when the files are restored; nil: none.
	Rewind *history.Draft
}

// Restored is the result of a restore.
type Restored struct {
	To      history.Stated
	Plan    files.RestorePlan
	Changed []string           // as they were again, or gone; of a plan: none
	Trashed []files.TrashEntry // what could not have been brought back
	Entry   *history.Entry     // the last that was written; nil: nothing had to be
}

// Restore restores files. The state as it is now is kept first. Paths that others could have
// changed since are kept as they are, and listed, unless it is forced.
func (w Files) Restore(ctx context.Context, r Restoring) (Restored, error) {
	for i, p := range r.Paths {
		clean, err := files.CheckPath(p)
		if err != nil {
			return Restored{}, err
		}
		r.Paths[i] = clean
	}
	if r.Force || r.Commands {
		if err := w.ws.person(ctx, "restore what others could have changed"); err != nil {
			return Restored{}, err
		}
	}
	if !r.Plan {
		if err := w.ws.may(ctx, "restore files of", r.Agent); err != nil {
			return Restored{}, err
		}
		if err := agent.NeedLiving(r.Agent); err != nil {
			return Restored{}, err
		}
		if err := w.ws.mended(ctx, r.Agent); err != nil {
			return Restored{}, err
		}
	}
	to, err := w.target(ctx, r)
	if err != nil {
		return Restored{}, err
	}
	out := Restored{To: to}
	root, err := w.stateHash(to.State)
	if err != nil {
		return out, err
	}
	folder, err := w.folderOf(r.Agent, to.State)
	if err != nil {
		return out, err
	}
	defer folder.Save()
	if _, err := w.RecoverFiles(ctx); err != nil {
		return out, err
	}
	wish := files.Restore{Agent: r.Agent.ID, Paths: r.Paths, Force: r.Force, Commands: r.Commands,
		To: files.PastState{Root: root, Step: to.Step, Partial: to.Partial()}}
	plan, now, err := folder.Plan(ctx, wish)
	if err == nil {
		err = w.named(r.Paths, to.State.Folder, now.Root, root)
	}
	if err != nil || r.Plan {
		out.Plan = plan
		return out, err
	}
	plan.Verb = r.verb()
	out.Plan = plan
	if err := w.keepState(ctx, r.Agent, folder, now); err != nil {
		return out, err
	}
	if plan.Note, err = w.noteOf(ctx, r); err != nil {
		return out, err
	}
	done, _, err := folder.Carry(ctx, plan, func(_ files.RestoreDone, after files.Taken) error {
		out.Entry, err = w.restored(ctx, r, folder, after)
		return err
	})
	out.Plan, out.Changed, out.Trashed = done.RestorePlan, done.Changed, done.Trashed
	return out, err
}

// verb returns the name of a restore in the trash.
func (r Restoring) verb() string {
	switch {
	case r.Rewind != nil:
		return "rewind"
	case r.Last:
		return "undo"
	}
	return "restore"
}

// named refuses paths that no state knows: who names one from another folder, or mistypes it, must
// not hear that nothing had to be done.
func (w Files) named(paths []string, folder string, states ...chain.Hash) error {
	for _, p := range paths {
		known := false
		for _, root := range states {
			n, err := files.Find(w.Past().Store(), root, p)
			if err != nil {
				return err
			}
			known = known || n != nil
		}
		if !known {
			return fault.New(fault.NotFound, "no %.200q in the agent's files, neither now nor then", p).
				WithHint("paths begin at %s; `ramet files` lists them; ignored files are left out", folder)
		}
	}
	return nil
}

// target is the state that is meant.
func (w Files) target(ctx context.Context, r Restoring) (history.Stated, error) {
	if !r.Last {
		return w.StateAt(ctx, r.Agent, r.At)
	}
	var found history.Stated
	ok := false
	err := w.ws.Store.View(ctx, func(log history.Log) (err error) {
		found, ok, err = lastTurn(ctx, log, r.Agent.ID)
		return err
	})
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "agent %s changed no files in a turn of its own", r.Agent.Label()).
			WithHint("there is nothing to undo")
	}
	return found, err
}

// lastTurn is the state before an agent's last turn that changed files, or before the restore
// that followed it.
func lastTurn(ctx context.Context, log history.Log, a id.Agent) (history.Stated, bool, error) {
	end := history.NoLimit
	for {
		var newest *history.Stated
		for e, err := range log.QueryRange(ctx, history.Range{Agent: a, End: end}, history.Selection{States: true, Newest: 1}) {
			if err != nil {
				return history.Stated{}, false, err
			}
			m, err := e.Decode()
			if err != nil {
				return history.Stated{}, false, err
			}
			newest = &history.Stated{State: *m.Files, Entry: e}
		}
		switch {
		case newest == nil:
			return history.Stated{}, false, nil
		case newest.When == history.AfterRestore:
			return history.StateBefore(ctx, log, a, newest.ID)
		case newest.When == history.AfterCalls && newest.Root != "":
			said, err := lastSaid(ctx, log, a, newest.ID)
			if err != nil {
				return history.Stated{}, false, err
			}
			if said == 0 { // what it was told was said before the fork
				return history.StateBefore(ctx, log, a, newest.ID)
			}
			return history.StateAt(ctx, log, a, said)
		}
		end = history.UpTo(newest.ID - 1)
	}
}

// lastSaid is the user's last words before an entry; 0: there are none of the agent's own.
func lastSaid(ctx context.Context, log history.Log, a id.Agent, before id.Message) (id.Message, error) {
	end := history.UpTo(before - 1)
	for {
		var last id.Message
		for e, err := range log.QueryRange(ctx, history.Range{Agent: a, End: end}, history.Selection{Newest: 64}) {
			if err != nil || e.Kind == history.User {
				return e.ID, err
			}
			last = e.ID
		}
		if last == 0 {
			return 0, nil
		}
		end = history.UpTo(last - 1)
	}
}

// keepState writes the state as it is before something changes it, if the history does not
// tell it yet. Whoever holds the agent is met here, before anything happened.
func (w Files) keepState(ctx context.Context, a agent.Agent, f *files.PastFolder, now files.Taken) error {
	_, holds, err := agent.FindHolder(ctx, w.ws.Store, a.ID, w.ws.Peers.Gone)
	if err != nil {
		return err
	}
	if holds {
		return fault.New(fault.Leased, "agent %s is working: its files can't be restored meanwhile", a.Label()).
			WithHint("wait for it, or stop it")
	}
	last, _, err := history.StateAt(ctx, w.ws.Store, a.ID, 0)
	if err != nil {
		return err
	}
	s, changed := w.stateOf(f, now, nil, last.State)
	if !changed {
		return nil
	}
	s.When = history.OnRequest
	_, err = w.ws.History().write(ctx, a, history.NewState(s))
	return err
}

// Rewinding asks to go back with the files.
type Rewinding struct {
	To    id.Message // 0: to the mark
	Label string     // of the mark; empty: the newest
	// Force, Commands and Plan are as in Restoring.
	Force, Commands, Plan bool
}

// RewindFiles goes back to a message or a mark, with the files.
func (w Files) RewindFiles(ctx context.Context, a agent.Agent, r Rewinding) (Restored, error) {
	if r.To == 0 {
		mark, err := w.ws.History().mark(ctx, a, r.Label)
		if err != nil {
			return Restored{}, err
		}
		r.To, r.Label = mark.ID, mark.Label
	}
	rewind := history.NewRewind(r.To, r.Label)
	return w.Restore(ctx, Restoring{Agent: a, At: r.To, Force: r.Force, Commands: r.Commands, Plan: r.Plan, Rewind: &rewind})
}

// restoreNote is the entry for the history in the journal of a restore: it is written when the
// files are as they shall be, by the process that gets them there.
type restoreNote struct {
	Agent id.Agent   `json:"agent"`
	After id.Message `json:"after"` // the agent's newest entry before
	// Rewind is the message that the conversation goes back to; nil: it stays.
	Rewind *history.Meta `json:"rewind,omitempty"`
	// Actor is the person who asked for it; nil: none did.
	Actor *history.Actor `json:"actor,omitempty"`
}

func (w Files) noteOf(ctx context.Context, r Restoring) ([]byte, error) {
	fresh, err := w.ws.Store.Agent(ctx, r.Agent.ID)
	if err != nil {
		return nil, err
	}
	n := restoreNote{Agent: r.Agent.ID, After: fresh.Head, Actor: history.ActorOf(ctx)}
	if r.Rewind != nil {
		n.Rewind = &r.Rewind.Meta
	}
	return json.Marshal(n)
}

// restored writes what the files are now, with the rewind that they belong to; nil: there was
// nothing to write.
func (w Files) restored(ctx context.Context, r Restoring, f *files.PastFolder, after files.Taken) (*history.Entry, error) {
	var drafts []history.Draft
	if r.Rewind != nil {
		drafts = append(drafts, *r.Rewind)
	}
	last, _, err := history.StateAt(ctx, w.ws.Store, r.Agent.ID, 0)
	if err != nil {
		return nil, err
	}
	// One that changed nothing is a restore too: undo must not take back the turn before it instead.
	if s, changed := w.stateOf(f, after, nil, last.State); changed || !r.Last {
		s.When = history.AfterRestore
		drafts = append(drafts, history.NewState(s))
	}
	if len(drafts) == 0 {
		return nil, nil
	}
	entries, err := w.ws.Store.Append(ctx, r.Agent.ID, agent.Passing(), drafts...)
	if err != nil {
		return nil, err
	}
	return &entries[0], nil
}

// RecoverFiles finishes the restores that processes which were killed left in the middle: the
// files, and what the history says of them.
func (w Files) RecoverFiles(ctx context.Context) ([]files.RestoreDone, error) {
	read := func(note []byte) (n restoreNote) {
		json.Unmarshal(note, &n) // of another form: of no agent
		return n
	}
	return w.Past().Recover(ctx, func(f *files.PastFolder, d files.RestoreDone, after files.Taken) error {
		return w.tellRestored(ctx, read(d.Note), f, after)
	})
}

// tellRestored writes what a restore that was interrupted had to tell, unless it did. An agent
// that is dead or at work by now is not told: its next state shows its files.
func (w Files) tellRestored(ctx context.Context, n restoreNote, f *files.PastFolder, after files.Taken) error {
	a, err := w.ws.Store.Agent(ctx, n.Agent)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if a.Head != n.After || a.Status != agent.Running {
		return nil // it is told already, or went on
	}
	ctx = history.Unattended(ctx) // who finishes it did not ask for it
	if n.Actor != nil {
		ctx = history.By(ctx, *n.Actor)
	}
	r := Restoring{Agent: a}
	if n.Rewind != nil {
		r.Rewind = &history.Draft{Kind: history.Rewind, Meta: *n.Rewind}
	}
	_, err = w.restored(ctx, r, f, after)
	if fault.Is(err, fault.Leased) {
		return nil
	}
	return err
}
