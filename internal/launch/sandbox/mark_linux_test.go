package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// playMarked says which mark it bears.
func playMarked() {
	m, ok := Marked()
	fmt.Printf("%v %x\n", ok, m[:])
}

// Whatever a command does to get rid of it, it bears its mark; and the mark of a command that
// it starts for somebody else is the other's.
func TestAMarkLasts(t *testing.T) {
	if m, ok := Marked(); ok {
		t.Skipf("this test runs in a command of %x", m[:])
	}
	// A copy: an ordinary user cannot reach the folder of the test binary.
	program, err := os.ReadFile("/proc/self/exe")
	self := filepath.Join(t.TempDir(), "self")
	if err == nil {
		err = os.WriteFile(self, program, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	mark := Mark{1, 2, 3, 0, 255, 38}
	want := fmt.Sprintf("true %x", mark[:])
	for _, line := range []string{
		`SANDBOX_TEST_ROLE=marked "$0"`,
		`env -i SANDBOX_TEST_ROLE=marked setsid "$0"`,
		`(SANDBOX_TEST_ROLE=marked "$0" &) ; sleep 1`,
		`SANDBOX_TEST_ROLE=marked unshare --user --pid --fork --mount-proc "$0" || SANDBOX_TEST_ROLE=marked "$0"`,
	} {
		var out bytes.Buffer
		p, err := Start(t.Context(), Command{Args: []string{"sh", "-c", line, self}, Dir: t.TempDir(), Env: os.Environ(), Output: &out, For: &mark})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v, %q, want %q", line, err, out.String(), want)
		}
	}
	var out bytes.Buffer
	p, err := Start(t.Context(), Command{Args: []string{"sh", "-c", `SANDBOX_TEST_ROLE=marked "$0"`, self}, Dir: t.TempDir(), Env: os.Environ(), Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil || !strings.HasPrefix(out.String(), "false ") {
		t.Errorf("one for nobody: %v, %q", err, out.String())
	}
}
