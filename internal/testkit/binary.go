package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gofrs/flock"
)

// keptBuilds names the folder in which binaries are kept between runs of the tests: ./test sets it.
const keptBuilds = "RAMET_TEST_BUILDS"

// BuildRamet builds cmd/ramet as exe. A kind names its flags: where builds are kept, go build does not link a kind
// again whose sources are unchanged. Several processes may build at once.
func BuildRamet(exe, kind string, flags ...string) error {
	if err := os.MkdirAll(filepath.Dir(exe), 0o700); err != nil {
		return err
	}
	folder := os.Getenv(keptBuilds)
	if folder == "" {
		return buildRamet(exe, flags)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	kept := filepath.Join(folder, kind)
	alone := flock.New(kept + ".lock")
	if err := alone.Lock(); err != nil {
		return err
	}
	defer alone.Unlock()
	if err := buildRamet(kept, flags); err != nil {
		return err
	}
	// A name of the caller's own keeps this build when another process builds after it.
	if os.Link(kept, exe) == nil {
		return nil
	}
	return buildRamet(exe, flags) // on another file system
}

func buildRamet(exe string, flags []string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-ldflags=-s -w"}, flags...), "-o", exe, "ramet/cmd/ramet")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
