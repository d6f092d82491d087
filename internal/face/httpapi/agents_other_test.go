package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/kernel"
	"ramet/internal/model/offline"
	"ramet/internal/operation/control"
	"ramet/internal/store/sqlite"
	"ramet/internal/turn/permit"
)

// otherProcess says what this process is to be instead of a test.
const otherProcess = "RAMET_HTTPAPI_TEST"

type orders struct{ Home, DB, Replies string }

// turnOrder is a turn that the other process is to run.
type turnOrder struct {
	Agent id.Agent
	Text  string
}

// The test binary is also another process of the workspace: a kernel that runs until
// its input ends.
func init() {
	role := os.Getenv(otherProcess)
	if role == "" {
		return
	}
	if err := other(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type allow struct{}

func (allow) Ask(context.Context, permit.Question) (permit.Verdict, error) {
	return permit.Verdict{Choice: permit.Once}, nil
}

func other(role string) error {
	var o orders
	if err := json.Unmarshal([]byte(role), &o); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, o.DB, sqlite.Options{Cwd: "/"})
	if err != nil {
		return err
	}
	place := control.At(o.Home, o.DB)
	server, err := control.Listen(place)
	if err != nil {
		return err
	}
	k, err := startKernel(ctx, s, server.Owner, o.Replies, offline.PipeScript, allow{}, place, make(chan string, 100))
	if err != nil {
		return err
	}
	server.Serve(k)
	fmt.Println(server.Owner)
	for lines := json.NewDecoder(os.Stdin); ; {
		var t turnOrder
		if lines.Decode(&t) != nil {
			break
		}
		if _, err := k.Exec(ctx, t.Agent, kernel.Prompt{Text: t.Text}); err != nil {
			return err
		}
	}
	k.Stop()
	server.Close()
	return s.Close()
}

// process starts another process on the floor, and returns its first words. run lets it run a turn.
func (f *floor) process(t *testing.T, replies string) (owner string, run func(a id.Agent, said string), kill func()) {
	t.Helper()
	o := orders{Home: f.home, DB: f.db, Replies: replies}
	role, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), otherProcess+"="+string(role))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
		in.Close()
	}
	t.Cleanup(kill)
	owner, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the other process said %q: %v", owner, err)
	}
	run = func(a id.Agent, said string) {
		t.Helper()
		if err := json.NewEncoder(in).Encode(turnOrder{a, said}); err != nil {
			t.Fatal(err)
		}
	}
	return strings.TrimSpace(owner), run, kill
}
