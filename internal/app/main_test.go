package app_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ramet/internal/app"
	"ramet/internal/pgtest"
)

// TestMain lets scripts run the real thing: the test binary, started under the
// name ramet, is ramet.
func TestMain(m *testing.M) {
	testscript.Main(withServer{m}, map[string]func(){"ramet": ramet})
}

type withServer struct{ m *testing.M }

// Run stops the PostgreSQL server that a test may have started.
func (w withServer) Run() int { return pgtest.Main(w.m) }

// ramet is cmd/ramet, which nobody may import.
func ramet() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := app.Main(ctx, os.Args[1:], os.Getenv, app.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
