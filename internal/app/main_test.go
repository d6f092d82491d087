package app_test

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ramet/internal/app"
	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	"ramet/internal/testkit/probe"
)

// TestMain lets scripts run the real thing: the test binary, started under the
// name ramet, is ramet.
func TestMain(m *testing.M) {
	sandbox.Main() // the command of a tool is started by the test binary too
	testscript.Main(withServer{m}, map[string]func(){"ramet": ramet, "mcpserver": mcpServer, "acpagent": acpAgent})
}

type withServer struct{ m *testing.M }

// Run stops the PostgreSQL server that a test may have started, and removes what was built.
func (w withServer) Run() int {
	defer func() {
		if dir, err := builds(); err == nil {
			os.RemoveAll(dir)
		}
	}()
	overlapWaits()
	defer peersSeen.write(runtime.GOOS + " " + runtime.GOARCH)
	return pgtest.Main(w.m)
}

// overlapWaits runs more tests at a time than there are processors, unless -parallel is
// given: most of them wait for processes and for timeouts.
func overlapWaits() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
	}
}

// builtBinary tells a test that runs once more in another process where it is.
const builtBinary = "RAMET_TEST_BINARY"

// builds is where the real binary is built, in a folder for each kind; it is removed when all
// tests have ended.
var builds = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "ramet-built-") })

// built returns the real binary with the switches of tests, and released the one that is
// released. Each is built on first use, for all tests.
var (
	built = sync.OnceValues(func() (string, error) {
		if exe := os.Getenv(builtBinary); exe != "" {
			return exe, nil
		}
		dir, err := builds()
		if err != nil {
			return "", err
		}
		exe := filepath.Join(dir, "probed", "ramet")
		os.Setenv(builtBinary, exe)
		return exe, testkit.BuildRamet(exe, "probed", "-tags", probe.Tag)
	})
	released = sync.OnceValues(func() (string, error) {
		dir, err := builds()
		if err != nil {
			return "", err
		}
		exe := filepath.Join(dir, "released", "ramet")
		return exe, testkit.BuildRamet(exe, "released")
	})
)

// ramet is cmd/ramet, which nobody may import.
func ramet() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := app.Main(ctx, os.Args[1:], os.Getenv, app.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
