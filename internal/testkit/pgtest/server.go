package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is one running private PostgreSQL.
type Server struct {
	dir    string // holds the data, the socket, nothing else
	cmd    *exec.Cmd
	log    *tail
	exited chan struct{} // closed when the process is gone and reaped

	stop    sync.Once
	stopErr error
}

// port only names the socket file. It stands in the URL too, where PGPORT
// would otherwise decide.
const port = "5432"

// Volatile lists settings for a server whose data need not survive a power
// failure. Tests on it take 40 % less of the processor and never wait for the
// disk; commits still survive a crash of the server. Benchmarks must not use it.
var Volatile = []string{"fsync=off", "full_page_writes=off", "autovacuum=off", "jit=off"}

// Start makes a data folder, starts PostgreSQL on it with these settings and
// returns once it answers. The server's log is copied to log, which may be nil.
// The context bounds the start only; the server runs until Stop, or until this
// process ends.
func Start(ctx context.Context, log io.Writer, settings ...string) (*Server, error) {
	bin, err := find(installed)
	if err != nil {
		return nil, err
	}
	user, err := serverUser()
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	dir, err := makeFolder(user)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	s := &Server{dir: dir, log: &tail{next: log}, exited: make(chan struct{})}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.start(ctx, bin, user, settings); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w%s", err, s.log), s.Stop())
	}
	return s, nil
}

// URL is the address of the server's database, with no schema in it.
func (s *Server) URL() string { return s.url("ramet") }

func (s *Server) url(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.User("ramet"),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {s.dir}, "port": {port}}.Encode(),
	}
	return u.String()
}

// Stop ends the server at once, with whoever is connected, and removes its
// folder. After a nil error neither is left. Further calls repeat the first
// answer.
func (s *Server) Stop() error {
	s.stop.Do(func() {
		if err := errors.Join(s.end(), os.RemoveAll(s.dir)); err != nil {
			s.stopErr = fmt.Errorf("stop PostgreSQL: %w", err)
		}
	})
	return s.stopErr
}

func (s *Server) start(ctx context.Context, bin string, user *account, settings []string) error {
	data := filepath.Join(s.dir, "data")
	initdb := s.command(user, filepath.Join(bin, "initdb"), "-D", data, "-U", "ramet",
		"--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C")
	if err := s.run(ctx, initdb); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	args := []string{"-D", data,
		"-c", "listen_addresses=", "-c", "unix_socket_directories=" + s.dir, "-c", "port=" + port,
		"-c", "max_connections=500", "-c", "timezone=UTC", "-c", "log_timezone=UTC",
		// Shared memory as files in the data folder: nothing of a killed
		// server stays in /dev/shm.
		"-c", "dynamic_shared_memory_type=mmap"}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	s.cmd = s.command(user, filepath.Join(bin, "postgres"), args...)
	if err := s.launch(); err != nil {
		s.cmd = nil
		return err
	}
	return s.ready(ctx)
}

// command prepares a program of PostgreSQL: in our folder, which its user can
// reach, and deaf to PG* variables and locales of the caller.
func (s *Server) command(user *account, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "PG") && !strings.HasPrefix(entry, "LC_") && !strings.HasPrefix(entry, "LANG") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C", "HOME="+s.dir)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = attributes(user)
	return cmd
}

// run runs a short command to its end. The thread is ours meanwhile, because
// the death signal of a child follows the thread that forked it.
func (s *Server) run(ctx context.Context, cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	return errors.Join(cmd.Wait(), context.Cause(ctx))
}

// launch starts the server from a thread that lives as long as the server
// does: the one that waits for it.
func (s *Server) launch() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the server
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.cmd.Wait() // how it ended is in the log
			close(s.exited)
		}
	}()
	return <-started
}

// ready returns when the server has answered and the database exists.
func (s *Server) ready(ctx context.Context) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := connect(ctx, s.url("postgres"))
		if err == nil {
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, "CREATE DATABASE ramet")
			return err
		}
		select {
		case <-s.exited:
			return fmt.Errorf("it ended before it answered: %s", s.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v: %w", patience, err)
		case <-again.C:
		}
	}
}

// end asks for an immediate shutdown: no checkpoint, the data is going
// anyway. The server then takes its own children with it; if it has not in
// time, its death does.
func (s *Server) end() error {
	if s.cmd == nil {
		return nil
	}
	s.cmd.Process.Signal(syscall.SIGQUIT)
	for range 2 {
		select {
		case <-s.exited:
			return nil
		case <-time.After(patience / 2):
			s.cmd.Process.Kill()
		}
	}
	return fmt.Errorf("process %d does not end", s.cmd.Process.Pid)
}

// installed matches the folders in which Debian keeps the binaries of each major version; they are not on the PATH.
const installed = "/usr/lib/postgresql/*/bin"

var errNotInstalled = errors.New("PostgreSQL is not installed: apt-get install postgresql, or set " +
	Env + " to the postgres:// URL of a server")

// find returns the folder with initdb and postgres: the highest version that
// matches the pattern, else the one on the PATH.
func find(pattern string) (string, error) {
	best, highest := "", -1.0
	folders, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	for _, bin := range folders {
		version, err := strconv.ParseFloat(filepath.Base(filepath.Dir(bin)), 64) // 15, or 9.6
		if err == nil && version > highest && runnable(filepath.Join(bin, "initdb")) && runnable(filepath.Join(bin, "postgres")) {
			best, highest = bin, version
		}
	}
	if best != "" {
		return best, nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errNotInstalled
	}
	// The two belong together: a link to one leads to the folder of both.
	initdb, err = filepath.EvalSymlinks(initdb)
	if bin := filepath.Dir(initdb); err == nil && runnable(filepath.Join(bin, "postgres")) {
		return bin, nil
	}
	return "", errNotInstalled
}

func runnable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
