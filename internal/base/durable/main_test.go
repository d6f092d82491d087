package durable

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// helperVar makes the test binary play another process.
const helperVar = "DURABLE_TEST_HELPER"

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

// helper is what the second process does. It reports facts on stdout, one a
// line, and waits for the end of stdin where it has to wait.
func helper(role string, args []string) error {
	switch role {
	case "hold":
		h, err := TryLock(args[0])
		if err != nil {
			return err
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
		return h.Unlock()
	case "bequeath": // dies, and leaves the lock to a child
		return bequeath(args[0])
	case "create":
		io.Copy(io.Discard, os.Stdin)
		return CreateFile(args[0], []byte(args[1]), 0o600)
	case "count":
		return count(args[0], args[1])
	case "rewrite":
		for i := 0; ; i++ {
			if err := WriteFile(args[0], page(i), 0o600); err != nil {
				return err
			}
			fmt.Println(i)
		}
	case "toolarge":
		return tooLarge(args[0])
	}
	return fmt.Errorf("no helper %q", role)
}

// count adds one to the number in a file, a hundred times, under the lock.
func count(lock, path string) error {
	for range 100 {
		h, err := Lock(context.Background(), lock)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(text))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
			return err
		}
		if err := h.Unlock(); err != nil {
			return err
		}
	}
	return nil
}

// page is a content that shows when it is torn: one number, repeated.
func page(i int) []byte {
	return []byte(strings.Repeat(fmt.Sprintf("%09d\n", i), 2000))
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

// says is the next line of the helper's output; empty at its end.
func (p *process) says() string {
	p.lines.Scan()
	return p.lines.Text()
}
