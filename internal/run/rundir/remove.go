package rundir

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// filesRemoved is the type of the event that says which files of a run a person had taken
// away. It is none of the format's own types: readers that do not know it pass it over, and
// find the files missing.
const filesRemoved run.Type = "ARTIFACTS_REMOVED"

// removal is its payload.
type removal struct {
	Paths  []string `json:"paths"`
	Reason string   `json:"reason,omitempty"`
}

// Removable is what can be taken away of a run that ended: its evidence, and with artifacts
// every file that its log names. Files that are gone already are not in it.
func (r *Reader) Removable(ctx context.Context, artifacts bool) ([]Sized, error) {
	state, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	if !state.RunState.Terminal() {
		return nil, fault.New(fault.Conflict, "run %s is %s: it may need its files", r.RunID, state.RunState).
			WithHint("only of runs that ended files are removed")
	}
	files, err := r.store.OpenFiles(r.RunID)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	names := map[string]bool{}
	evidence, err := files.Below(strings.TrimSuffix(run.EvidenceFolder, "/"))
	if err != nil {
		return nil, err
	}
	for _, name := range evidence {
		names[name] = true
	}
	if artifacts {
		w := newFileAudit(r.RunID)
		for e, err := range r.Events(ctx, 0) {
			if err != nil {
				return nil, err
			}
			w.note(e.Event)
		}
		for name := range w.sums {
			names[name] = run.IsPath(name)
		}
	}
	var out []Sized
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if info, err := files.root.Lstat(filepath.FromSlash(name)); names[name] && err == nil && info.Mode().IsRegular() {
			out = append(out, Sized{name, info.Size()})
		}
	}
	return out, nil
}

// Sized is a file of a run, and how large it is.
type Sized struct {
	Path  string
	Bytes int64
}

// mostPaths is how many files one event names.
const mostPaths = 500

// Remove takes files of the run away. That it did is in the log before: whoever verifies the run
// knows what is missing, and that nobody else took it.
func (x *Session) Remove(ctx context.Context, paths []string, reason string) error {
	for some := range slices.Chunk(paths, mostPaths) {
		payload, err := json.Marshal(removal{Paths: some, Reason: reason})
		if err != nil {
			return err
		}
		if _, err := x.Append(ctx, Request{Type: filesRemoved, Payload: payload}); err != nil {
			return err
		}
	}
	if err := x.Settle(); err != nil {
		return err
	}
	files, err := x.store.OpenFiles(x.RunID)
	if err != nil {
		return err
	}
	defer files.Close()
	for _, name := range paths {
		if err := files.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return durable.Failure("remove", filepath.Join(files.dir, name), err)
		}
	}
	return nil
}
