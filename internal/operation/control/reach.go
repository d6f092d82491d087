package control

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"ramet/internal/base/fault"
)

// maxPath is how long the path of a socket can be on every system.
const maxPath = 100

// reach calls use with a path of the socket that is short enough for the system.
// On Linux a long one is walked from its folder, which is opened for that.
func reach(path string, use func(path string) error) error {
	if len(path) <= maxPath {
		return use(path)
	}
	if runtime.GOOS != "linux" {
		return fault.New(fault.InvalidConfig, "the path of the socket %s is too long for this system", path).
			WithHint("choose a shorter home with --home or RAMET_HOME")
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return use(filepath.Join(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), filepath.Base(path)))
}
