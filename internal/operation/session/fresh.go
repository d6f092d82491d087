package session

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/config"
)

// fresh reports whether the workspace is going to be made in a file that the user named. A
// command that only reads is refused: the name is more likely to be wrong.
func (s *Session) fresh(p config.WorkspaceLocation) (bool, error) {
	if !p.Named || strings.Contains(p.DB, "://") {
		return false, nil
	}
	if _, err := os.Stat(p.DB); !errors.Is(err, fs.ErrNotExist) {
		return false, nil // it is there, or opening it says what is wrong
	}
	if !s.Reads {
		return true, nil
	}
	return false, fault.New(fault.NotFound, "there is no database %s", p.DB).
		WithHint("check the path; a command that writes, such as `ramet exec`, makes it")
}
