//go:build unix

// Withpg runs a command that finds a private PostgreSQL in
// RAMET_TEST_POSTGRES:
//
//	go run ./internal/testkit/withpg -volatile -- go test ./...
//
// With -volatile the server does not wait for the disk (see pgtest.Volatile),
// which suits tests and not benchmarks.
//
// Where the variable is set already, that server is used and nothing is
// started. Signals go on to the command and all it started (it has a process
// group of its own); the exit code is the command's, or 128 and the number of
// the signal that ended it. The server is stopped whatever happens.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"ramet/internal/testkit/pgtest"
)

func main() {
	args := os.Args[1:]
	var settings []string
	if len(args) > 0 && args[0] == "-volatile" {
		args, settings = args[1:], pgtest.Volatile
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		fmt.Fprintln(os.Stderr, "usage: withpg [-volatile] -- COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	code, err := run(args, settings)
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpg:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(args, settings []string) (code int, err error) {
	// From here on no signal ends us before the server is stopped.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	if os.Getenv(pgtest.Env) == "" {
		server, err := pgtest.Start(context.Background(), nil, settings...)
		if err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		os.Setenv(pgtest.Env, server.URL())
	}
	return wait(args, signals)
}

// wait runs the command to its end and passes on the signals that come
// meanwhile, or came before.
func wait(args []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if !term.IsTerminal(int(os.Stdin.Fd())) { // a group in the background must not read it
		cmd.Stdin = os.Stdin
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 127, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			syscall.Kill(-cmd.Process.Pid, s.(syscall.Signal))
		case err := <-ended:
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				return exit.ExitCode(), nil
			}
			return 0, err
		}
	}
}
