package rundir

import (
	"errors"
	"io/fs"
	"os"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
)

// enter opens the folder of a run, below the project if it lies in one. A folder that is
// reached over a link out of the project, or that has a link among its own files, is
// DENIED: whoever made it chose what is read and written elsewhere. One that is not there
// is fs.ErrNotExist.
func (s *Store) enter(runID string) (*os.Root, error) {
	return s.folder().Plain(nil, runID)
}

// admit is enter for those who open files by their paths then.
func (s *Store) admit(runID string) error {
	root, err := s.enter(runID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return root.Close()
}

// admitAll does the same for the folder of all runs.
func (s *Store) admitAll() error {
	root, err := s.folder().Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return root.Close()
}

func (s *Store) folder() trust.Folder {
	return trust.Folder{Project: s.Project, Dir: s.Root, Hint: "give the folder itself with --runs-dir or RAMET_RUNS"}
}

// gone is what the folder of a run says that is not there.
func (s *Store) gone(runID string) error {
	runs, _ := s.List() // where they cannot be listed, none is near
	return fault.New(fault.NotFound, "no run %s in %s", runID, s.Root).WithHint("%s", text.NearestHint(runID, runs, "`ramet run list` lists the runs"))
}
