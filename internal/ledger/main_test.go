package ledger

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// helperVar makes the test binary play another process.
const helperVar = "LEDGER_TEST_HELPER"

func TestMain(m *testing.M) {
	if role := os.Getenv(helperVar); role != "" {
		if err := helper(role, os.Args[1:]); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// helper is what the second process does. It reports facts on stdout, one a line.
func helper(role string, args []string) error {
	switch role {
	case "sit": // a process that is there until its input ends
		fmt.Println(os.Getpid())
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "write":
		return write(args[0], args[1], args[2])
	}
	return fmt.Errorf("no helper %q", role)
}

// write registers sub-agents and ends them, and acknowledges each update on stdout. The
// numbers go from one to another.
func write(dir, name, from string) error {
	n, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	f := FolderAt(dir, FolderOptions{Wait: time.Minute})
	for ; ; n++ {
		id := name + "-" + strconv.Itoa(n)
		if _, err := f.Spawn(context.Background(), Start{ID: id, Type: "t", Plan: name, Group: "g"}); err != nil {
			return err
		}
		fmt.Println("spawned", id)
		if _, err := f.Move(context.Background(), id, Completed, ""); err != nil {
			return err
		}
		fmt.Println("completed", id)
	}
}

// process is a running helper.
type process struct {
	*exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func start(t *testing.T, role string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperVar+"="+role)
	cmd.Stderr = os.Stderr
	stdin := testkit.Must(cmd.StdinPipe())(t)
	stdout := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &process{cmd, stdin, bufio.NewScanner(stdout)}
}
