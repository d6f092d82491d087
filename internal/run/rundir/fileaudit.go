package rundir

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	fast "github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

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

func (w *fileAudit) all() int { return len(w.sums) + w.inherited }

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
