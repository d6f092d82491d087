package rundir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	fast "github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"ramet/internal/base/fault"
	"ramet/internal/base/seal"
	"ramet/internal/run"
)

// Proof counts what a verification found in order.
type Proof struct {
	RunID       string `json:"run_id"`
	Events      int64  `json:"events"`      // ancestors' included
	Lines       int64  `json:"lines"`       // of this run's own log
	Checkpoints int    `json:"checkpoints"` // met, of those in the folder
	Covered     int64  `json:"covered"`     // own lines under the newest checkpoint met
	Elsewhere   bool   `json:"elsewhere"`   // a checkpoint kept elsewhere was met
	Snapshot    string `json:"snapshot"`    // ok, behind, none
	Artifacts   int    `json:"artifacts"`   // files that are what the log says
	Unchecked   int    `json:"unchecked_artifacts"`
	Removed     int    `json:"removed_files"` // taken away, as the log says
	// Torn describes the incomplete line that a crash left at the end; nil if there is none.
	Torn *run.Tail `json:"torn_tail"`
}

// Checkpoints reads the notes in the run's folder, those signed with our key.
func (r *Reader) Checkpoints() ([]run.Checkpoint, error) { return r.readNotes(false) }

func (r *Reader) file(name string) string { return filepath.Join(r.store.Dir(r.RunID), name) }

// splitNotes cuts a file of notes apart: each ends with its signatures and an
// empty line. An unfinished last one is left out: it was never acknowledged.
func splitNotes(text string) []string {
	const origin = "ramet/1 run\n"
	var out []string
	for _, part := range strings.Split(text, origin)[1:] {
		if strings.HasSuffix(part, "\n\n") {
			out = append(out, origin+strings.TrimSuffix(part, "\n"))
		}
	}
	return out
}

// OpenCheckpoint checks the signature of a checkpoint.
func OpenCheckpoint(note []byte, verifier string) (run.Checkpoint, error) {
	text, err := seal.Open(note, verifier)
	if err != nil {
		var other *seal.OtherKeyError
		if errors.As(err, &other) {
			f := fault.New(fault.EventChainBroken, "the checkpoint is signed by %s, not by %s",
				strings.Join(other.Got, ", "), other.Want).WithHint("give the signer's key with --key")
			f.Err = other
			return run.Checkpoint{}, f
		}
		return run.Checkpoint{}, fault.New(fault.EventChainBroken, "the checkpoint's signature does not fit: %w", err).
			WithHint("it was changed, or is not a checkpoint")
	}
	return run.ParseCheckpoint(text)
}

// Verify reads everything: links, hashes, meaning, snapshot, the tree against the
// checkpoints in the folder and those kept elsewhere, and the files whose hashes are
// in the log.
func (r *Reader) Verify(ctx context.Context, elsewhere ...run.Checkpoint) (Proof, error) {
	w := newFileAudit(r.RunID)
	p, err := r.verify(ctx, w, elsewhere)
	if err != nil {
		return p, err
	}
	return p, w.check(r.store, &p)
}

// VerifyAll is Verify, and holds the configuration against the one that the run began with: what a
// run did is proved only together with what it was to do. One that came as a log alone has none.
func (r *Reader) VerifyAll(ctx context.Context, elsewhere ...run.Checkpoint) (Proof, error) {
	p, err := r.Verify(ctx, elsewhere...)
	if err != nil {
		return p, err
	}
	began, err := r.began(ctx)
	if err != nil || began == "" {
		return p, err
	}
	info, err := os.Stat(r.file(configFile))
	if err != nil || info.Size() == 0 {
		return p, nil
	}
	have, err := r.store.ConfigSum(r.RunID)
	if err == nil && have != began {
		err = fault.New(fault.ArtifactChanged, "run %s: %s was changed: its SHA-256 is %.16s…, in the log it is %.16s…", r.RunID, configFile, have, began).
			WithHint("restore it from a copy; --log-only checks the log alone")
	}
	return p, err
}

// VerifyLog is Verify without the files.
func (r *Reader) VerifyLog(ctx context.Context, elsewhere ...run.Checkpoint) (Proof, error) {
	w := newFileAudit(r.RunID)
	p, err := r.verify(ctx, w, elsewhere)
	p.Unchecked = len(w.sums) + w.inherited
	return p, err
}

func (r *Reader) verify(ctx context.Context, w *fileAudit, elsewhere []run.Checkpoint) (Proof, error) {
	p := Proof{RunID: r.RunID, Snapshot: "none"}
	stored, raw, hasSnapshot, err := r.Stored()
	if err != nil {
		return p, err
	}
	own, err := r.Checkpoints()
	if err != nil {
		return p, err
	}
	tree, err := r.newSignedTree(append(own, elsewhere...))
	if err != nil {
		return p, err
	}
	reducer := r.reducer()
	for e, err := range r.Events(ctx, 0) {
		if err != nil {
			return p, err
		}
		// A log that another program wrote may be linked and still be wrong.
		if err := errors.Join(run.CheckPayload(e.Type, e.Payload), reducer.Apply(e.Event)); err != nil {
			return p, unfitEvent(r.RunID, e, err)
		}
		w.note(e.Event)
		p.Events++
		if p.Events > r.inherited() {
			if err := tree.add(e); err != nil {
				return p, err
			}
		}
		if hasSnapshot && p.Events == stored.EventCount {
			want, err := reducer.Snapshot().Encode()
			if err == nil && string(want) != string(raw) {
				err = differentSnapshot(r.RunID, p.Events)
			}
			if err != nil {
				return p, err
			}
			p.Snapshot = "ok"
		}
	}
	p.Lines, p.Checkpoints, p.Covered = tree.Size(), tree.met, tree.covered
	if err := tree.end(r.RunID); err != nil {
		return p, err
	}
	if hasSnapshot && p.Snapshot == "none" {
		return p, tooFar(runPlace(r.RunID), stored.EventCount, p.Events)
	}
	p.Elsewhere = len(elsewhere) > 0
	w.items = reducer.Snapshot().WorkItems
	if log, can := r.log.(run.Torn); can {
		tail, torn, err := log.Torn(ctx)
		if torn {
			p.Torn = &tail
		}
		return p, err
	}
	return p, nil
}

func cutShort(runID string, have, signed int64) error {
	return fault.New(fault.EventChainBroken, "run %s has %d lines, a checkpoint was signed over %d", runID, have, signed).
		WithHint("the log was cut; restore it from a copy")
}

func differentSnapshot(runID string, events int64) error {
	return fault.New(fault.EventChainBroken, "the snapshot of run %s is not the replay of its first %d events", runID, events).
		WithHint("`ramet run replay --check` shows where it differs; `ramet run replay` makes it again")
}

// LastCheckpoint reads the newest checkpoint of a file, which may be a copy of a
// run's checkpoints or a single note.
func LastCheckpoint(data []byte, verifier string) (run.Checkpoint, error) {
	if notes := splitNotes(string(data)); len(notes) > 0 {
		data = []byte(notes[len(notes)-1])
	}
	return OpenCheckpoint(data, verifier)
}

// fileAudit gathers which files a log vouches for, and compares them with the disk.
//
// Of a path that was written several times the last hash counts. Not compared, and
// counted apart, are unknown files: those of the runs that this one was forked
// from, which lie in their folders; paths that lead out of the folder, which older
// versions accepted; and outputs of an item whose newest attempt did not end well, for
// a file gets its name just before its event is written.
type fileAudit struct {
	runID     string
	sums      map[string]string // of this run's own files, by path
	removed   map[string]bool   // taken away since, as the log says
	inherited int
	items     []run.Item
	made      map[string][]run.File // by worker and scope: what the newest attempt made
}

func newFileAudit(runID string) *fileAudit {
	return &fileAudit{runID: runID, sums: map[string]string{}, removed: map[string]bool{}, made: map[string][]run.File{}}
}

func (w *fileAudit) note(e run.Event) {
	var p struct {
		Item    string     `json:"work_item_id"`
		Path    string     `json:"path"`
		SHA256  string     `json:"sha256"`
		Outputs []run.File `json:"outputs"`
		Paths   []string   `json:"paths"`
	}
	if e.Type != run.ArtifactWritten && e.Type != run.WorkItemFinished && e.Type != filesRemoved || fast.Unmarshal(e.Payload, &p) != nil {
		return
	}
	if e.RunID != w.runID {
		if e.Type == run.ArtifactWritten {
			w.inherited++
		}
		return
	}
	if e.Type == run.ArtifactWritten {
		w.sums[p.Path] = p.SHA256
		delete(w.removed, p.Path)
	}
	for _, gone := range p.Paths {
		w.removed[gone] = true
	}
	w.replaced(p.Item, p.Outputs)
	for _, f := range p.Outputs {
		if f.SHA256 != nil {
			w.sums[f.Path] = *f.SHA256
			delete(w.removed, f.Path)
		}
	}
}

// replaced forgets what an earlier attempt at an item made and this one did not: of a folder
// that an item fills only what its newest attempt gave stays.
func (w *fileAudit) replaced(item string, outputs []run.File) {
	worker, rest, ok := strings.Cut(strings.TrimPrefix(item, w.runID+":"), ":")
	_, scope, more := strings.Cut(rest, ":")
	if !ok || !more {
		return
	}
	of := worker + ":" + scope
	for _, f := range w.made[of] {
		if !slices.ContainsFunc(outputs, func(o run.File) bool { return o.Path == f.Path }) {
			delete(w.sums, f.Path)
		}
	}
	w.made[of] = outputs
}

// mostNamed limits the changed files that are named.
const mostNamed = 10

// check compares the files. Those of a run whose folder is on another machine cannot be.
func (w *fileAudit) check(s *Store, p *Proof) error {
	p.Unchecked = w.inherited
	if _, err := os.Stat(s.Dir(w.runID)); err != nil {
		p.Unchecked += len(w.sums)
		return nil
	}
	files, err := s.OpenFiles(w.runID)
	if err != nil {
		return err
	}
	defer files.Close()
	var changed []string
	for name := range w.removed {
		if _, there := files.Hash(name); !there {
			p.Removed++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.sums)) {
		if !run.IsPath(name) {
			p.Unchecked++
			continue
		}
		have, there := files.Hash(name)
		switch {
		case there && have == w.sums[name]:
			p.Artifacts++
		case !there && w.removed[name]:
		case w.open(name):
			p.Unchecked++
		case there:
			changed = append(changed, fmt.Sprintf("%s was changed: its SHA-256 is %.16s…, in the log it is %.16s…", name, have, w.sums[name]))
		default:
			changed = append(changed, name+" is missing")
		}
	}
	if len(changed) == 0 {
		return nil
	}
	more := ""
	if n := len(changed) - mostNamed; n > 0 {
		changed, more = changed[:mostNamed], fmt.Sprintf("; and %d more", n)
	}
	return fault.New(fault.ArtifactChanged, "run %s: %s%s", w.runID, strings.Join(changed, "; "), more).
		WithHint("restore it from a copy, or let `ramet run resume` make it again; --log-only checks the log alone")
}

// open reports whether a file is the output of an item that may have been interrupted
// between giving the file its name and writing the event.
func (w *fileAudit) open(name string) bool {
	for _, item := range run.LatestAttempts(w.items) {
		if item.Status == run.Completed || item.Status == run.ItemSkipped {
			continue
		}
		for _, f := range item.Outputs {
			folder, all := strings.CutSuffix(f.Path, "/**")
			if f.Path == name || all && strings.HasPrefix(name, folder+"/") {
				return true
			}
		}
	}
	return false
}

// signedTree is the tree of a run's own lines, which is compared with checkpoints as it grows.
type signedTree struct {
	run.Tree
	due     map[int64][]tlog.Hash // roots of the checkpoints that were not met yet, by size
	met     int
	covered int64 // lines under the newest checkpoint met
}

// newSignedTree makes a tree that must meet all checkpoints.
func (r *Reader) newSignedTree(notes []run.Checkpoint) (*signedTree, error) {
	t := &signedTree{due: map[int64][]tlog.Hash{}}
	for _, c := range notes {
		if c.RunID != r.RunID {
			return nil, fault.New(fault.EventChainBroken, "the checkpoint is of run %s, not of %s", c.RunID, r.RunID).
				WithHint("give the checkpoint of this run")
		}
		t.due[c.Size] = append(t.due[c.Size], c.Root)
	}
	return t, nil
}

// add adds a line. EVENT_CHAIN_BROKEN: the lines up to this one are not those that were signed.
func (t *signedTree) add(e run.Entry) error {
	t.Add(e.Raw)
	for _, root := range t.due[t.Size()] {
		if root != t.Root() {
			return run.ChainBroken(runPlace(e.RunID), e.Line, e.Offset, "the lines up to here are not those that were signed")
		}
		t.met++
		t.covered = t.Size()
	}
	delete(t.due, t.Size())
	return nil
}

// end refuses a log that is shorter than what was signed.
func (t *signedTree) end(runID string) error {
	for size := range t.due {
		return cutShort(runID, t.Size(), size)
	}
	return nil
}

// readNotes reads the checkpoints in the folder; with foreign, also those that are signed with another key.
func (r *Reader) readNotes(foreign bool) ([]run.Checkpoint, error) {
	text, err := os.ReadFile(r.file(checkpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.StorageIO, "read %s: %w", r.file(checkpointFile), err)
	}
	key, err := r.store.Key()
	if err != nil {
		return nil, err
	}
	var out []run.Checkpoint
	for _, note := range splitNotes(string(text)) {
		c, err := OpenCheckpoint([]byte(note), key.Verifier())
		if _, other := errors.AsType[*seal.OtherKeyError](err); other && foreign {
			text, _, _ := strings.Cut(note, "\n\n") // whose signature cannot be checked here
			c, err = run.ParseCheckpoint(text + "\n")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Inclusion proves that the log under a checkpoint contains a line. Checking it takes only that checkpoint:
// the hashes are those of RFC 6962, as in Go's checksum database (tlog.CheckRecord).
type Inclusion struct {
	RunID string      `json:"run_id"`
	Line  string      `json:"line"`
	Index int64       `json:"index"` // of the line, from 0
	Size  int64       `json:"size"`  // of the tree
	Root  tlog.Hash   `json:"root"`
	Proof []tlog.Hash `json:"proof"`
}

// Consistency proves that the log under one checkpoint is the beginning of the
// log under another (tlog.CheckTree).
type Consistency struct {
	RunID   string      `json:"run_id"`
	OldSize int64       `json:"old_size"`
	OldRoot tlog.Hash   `json:"old_root"`
	Size    int64       `json:"size"`
	Root    tlog.Hash   `json:"root"`
	Proof   []tlog.Hash `json:"proof"`
}

// grow reads this run's own lines into a tree, and hands each to see.
func (r *Reader) grow(ctx context.Context, see func(n int64, e run.Entry)) (*run.Tree, error) {
	tree := &run.Tree{}
	for e, err := range r.log.Events(ctx, 0) {
		if err != nil {
			return nil, err
		}
		see(tree.Size(), e)
		tree.Add(e.Raw)
	}
	return tree, nil
}

// ProveInclusion proves that an event, named by id or by its number in this run's
// own log, is in it.
func (r *Reader) ProveInclusion(ctx context.Context, event string) (Inclusion, error) {
	p := Inclusion{RunID: r.RunID, Index: -1}
	number, _ := strconv.ParseInt(event, 10, 64)
	f, err := r.grow(ctx, func(n int64, e run.Entry) {
		if e.ID == event || n+1 == number {
			p.Index, p.Line = n, string(e.Raw)
		}
	})
	if err != nil {
		return p, err
	}
	if p.Index < 0 {
		return p, fault.New(fault.NotFound, "run %s has no event %.60q of its own", r.RunID, event).
			WithHint("give an event_id or a number")
	}
	p.Size, p.Root = f.Size(), f.Root()
	p.Proof, err = tlog.ProveRecord(p.Size, p.Index, f)
	return p, err
}

// ProveConsistency proves that the log only grew since a checkpoint. A log that
// did not is EVENT_CHAIN_BROKEN.
func (r *Reader) ProveConsistency(ctx context.Context, old run.Checkpoint) (Consistency, error) {
	p := Consistency{RunID: r.RunID, OldSize: old.Size, OldRoot: old.Root}
	f, err := r.grow(ctx, func(int64, run.Entry) {})
	if err != nil {
		return p, err
	}
	p.Size, p.Root = f.Size(), f.Root()
	if old.Size > p.Size {
		return p, cutShort(r.RunID, p.Size, old.Size)
	}
	if p.Proof, err = tlog.ProveTree(p.Size, old.Size, f); err != nil {
		return p, err
	}
	if err := tlog.CheckTree(p.Proof, p.Size, p.Root, old.Size, old.Root); err != nil {
		return p, fault.New(fault.EventChainBroken, "run %s is not what the checkpoint over %d lines signed: %w", r.RunID, old.Size, err).
			WithHint("the log was rewritten; compare with a copy kept elsewhere")
	}
	return p, nil
}
