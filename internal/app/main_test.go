package app_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ramet/internal/app"
	"ramet/internal/app/probe"
	"ramet/internal/pgtest"
	"ramet/internal/sandbox"
)

// TestMain lets scripts run the real thing: the test binary, started under the
// name ramet, is ramet.
func TestMain(m *testing.M) {
	sandbox.Main() // the command of a tool is started by the test binary too
	testscript.Main(withServer{m}, map[string]func(){"ramet": ramet, "mcpserver": mcpServer, "acpagent": acpAgent})
}

type withServer struct{ m *testing.M }

// Run stops the PostgreSQL server that a test may have started.
func (w withServer) Run() int {
	defer func() {
		if builtDir != "" {
			os.RemoveAll(builtDir)
		}
	}()
	if underRace {
		defer preferPlain()()
	}
	defer peersSeen.write(runtime.GOOS + " " + runtime.GOARCH)
	return pgtest.Main(w.m)
}

// preferPlain lets scripts run a ramet without the race detector, under which
// a thousand starts take longer than all other tests. What runs concurrently
// is tested, with it, where it is written.
func preferPlain() (clean func()) {
	dir, err := os.MkdirTemp("", "ramet-plain-")
	if err == nil {
		err = buildTo(filepath.Join(dir, "ramet"))
	}
	if err != nil {
		log.Fatal(err)
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() { os.RemoveAll(dir) }
}

// buildTo makes the real binary, with the switches of tests.
func buildTo(exe string) error { return goBuild(exe, "-tags", probe.Tag) }

// goBuild makes the real binary; without flags it is the one that is released.
func goBuild(exe string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false"}, flags...), "-o", exe, "ramet/cmd/ramet")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// builtBinary tells a test that runs once more in another process where it is.
const builtBinary = "RAMET_TEST_BINARY"

// built builds the real binary on first use, for all tests that want it; it is
// removed when they have ended.
var (
	builtDir string
	built    = sync.OnceValues(func() (exe string, err error) {
		if exe = os.Getenv(builtBinary); exe != "" {
			return exe, nil
		}
		if builtDir, err = os.MkdirTemp("", "ramet-built-"); err != nil {
			return "", err
		}
		exe = filepath.Join(builtDir, "ramet")
		os.Setenv(builtBinary, exe)
		return exe, buildTo(exe)
	})
)

// ramet is cmd/ramet, which nobody may import.
func ramet() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := app.Main(ctx, os.Args[1:], os.Getenv, app.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
