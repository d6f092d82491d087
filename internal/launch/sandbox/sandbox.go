// Package sandbox runs a command so that it can be killed as a whole and, if asked, is confined by the
// operating system. It also guards the names in a folder that other programs execute.
//
// Every command is contained. After Kill, after its context or the command itself ended, and also after
// ramet was killed with SIGKILL, nothing that the command started is running: no double fork, no
// session of its own, no ignored or stopped process. Wait returns after that was checked.
//
//   - Linux: the binary starts itself again as helper, which is the first process (init) of a PID
//     namespace. The kernel ends a namespace with its init. Init ends with the command, and when a pipe
//     from ramet is closed, which the kernel does however ramet dies. An ordinary user needs a user
//     namespace for it: inside, set-user-id programs (sudo) have no effect, and files of others belong
//     to no process. The command has its own /proc where the kernel allows one; in some containers it sees
//     that of the host. What it mounts is gone with it.
//   - Linux without namespaces: the helper is a subreaper, and kills its descendants until none is left.
//     A command that kills the helper first escapes; processes that kept its environment are found by it
//     and killed all the same.
//   - Elsewhere: a process group. A process that leaves its group escapes.
//
// Confined means, on Linux only, all of this or nothing (see Available):
//
//   - Files can be read and executed everywhere, except Box.Hide, which is covered by an empty folder or
//     file. They can be written, made, removed, and have their mode, owner and times changed only below
//     Box.Write, in a /tmp of the command's own (Box.Temp) and in /dev/shm. Landlock and read-only mounts
//     both enforce it, so neither is trusted alone.
//   - Box.Keep, inside Box.Write, is a read-only mount, so it cannot be renamed away, nor can the folders
//     above it. Only what exists when the command starts can be kept; for names that other programs
//     execute, see Box.Guard. Other file systems that are mounted below a writable folder stay read-only.
//   - No network except a loopback of the command's own (Box.Network lifts this), no System V IPC, no
//     abstract Unix sockets of others, also with the network (before Landlock 6 only without it).
//   - /tmp, the user's other temporary folders and /run show nothing of others: no socket of a multiplexer,
//     agent or bus, whenever it is bound. The command's program, what it may write, Box.Show, the
//     user's home and the folders of PATH are at their paths all the same.
//   - Without the network, sockets elsewhere that were bound when the command started are covered. One that
//     is bound later, or by a relative path by a process that has changed its folder since, can be
//     connected to if the command can see it, with kernels before Landlock 9.
//   - No process outside can be seen, signalled or traced. No privilege can be gained (no_new_privs).
//     Root keeps what it needs for files, and nothing else: no devices, modules, mounts, clocks or raw I/O.
//   - Processes, memory and the size of a file are bounded (Box.Limits); Result.Notes says which limit
//     was hit.
//   - A seccomp filter refuses keyrings, io_uring, BPF, performance counters, sockets other than Unix, IP
//     and the netlink of routes, user namespaces, joining any namespace, every mode with a setuid or
//     setgid bit, and programs of another architecture.
//
// Landlock alone does not count as confinement: its network rules cover TCP (and only later UDP), and not
// multipath TCP, so without namespaces the network is open.
//
// # Overlay
//
// A command with Box.Overlay changes a layer over its guarded folders, which is a folder of ramet's. When the
// command is dead, Wait checks the layer and applies it:
//
//   - Nothing of it is visible outside before, whatever the command does.
//   - New names that other programs execute are judged as below. What exists of them is not changed, but in a
//     repository of git what cannot make git run a program. What is refused goes to the quarantine.
//   - What another program changed since the command began stays, and the command's version goes to the quarantine.
//   - A file is replaced in one step. What a killed ramet had not applied is dropped.
//
// Where the kernel or a file system allows no overlay (CheckOverlay) the guard looks after the names.
//
// # Guard
//
// Some names make other programs execute something unasked: a repository whose configuration names a
// monitor, tasks of an editor, variables of a shell, servers of an agent (table: guard_names.go). A GuardWatch
// begins before a command runs and ends after it is dead:
//
//   - Names that exist at the beginning are listed, so that they can be made read-only.
//   - Names that appeared meanwhile, at any depth, are judged at the end, whether the command or a person
//     made them. Harmless ones stay (a repository with the usual settings and without hooks); the rest is
//     moved into quarantine, outside of the folder, and reported.
//   - Nothing is made in the folder, and nothing outside of it is touched, whatever links do meanwhile.
//   - Another process can end the watch of a killed one (ResumeGuard).
//
// Until the command ends, or Patrol has seen a name twice, other users of the folder may meet it. Looking
// costs one system call for each folder that did not change.
package sandbox

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"ramet/internal/base/fault"
)

// Command describes a command to run.
type Command struct {
	Args    []string // the program, looked up in the PATH of Env, and its arguments
	Path    string   // the program's file; empty: what Args[0] finds
	Dir     string   // where
	Env     []string // complete; nothing is inherited
	Umask   string   // in octal; empty: that of this process
	Confine *Box     // nil: contained only
	// Replace maps files and folders to others that the command finds in their place, read-only. Where the
	// kernel allows no mounts it finds what is there.
	Replace map[string]string
	Output  io.Writer // takes both streams as they come; nil: they are discarded
	Speaks  *Speech   // nil: it reads nothing, and what it says goes to Output
	For     *Mark     // for whom it is started: it bears this forever (Marked); nil: no mark
	// Socket is a socket that a confined command sees, and nothing else of its folder: SocketVariable names it. Empty: none.
	Socket string
}

// SocketVariable names the socket of the process that started a confined command.
const SocketVariable = "RAMET_SOCKET"

// Caller describes the command that a process belongs to.
type Caller struct {
	Mark     Mark
	Confined bool
}

// Speech connects to a command that stays: the ends of two pipes that are the
// command's. Its standard error goes to Output. Start closes both files, whatever comes of it.
type Speech struct {
	In  *os.File // it reads this
	Out *os.File // and writes this
}

func (s *Speech) close() {
	if s != nil {
		s.In.Close()
		s.Out.Close()
	}
}

// Box limits a confined command. All paths are absolute; what does not
// exist is left out, but for folders to be written.
type Box struct {
	Write []string // folders below which it may write, by their real paths: no symbolic link is followed
	Keep  []string // what it may not write even so
	Hide  []string // files and folders that it may not read
	Show  []string // files and folders that it sees although they are below a temporary folder or /run
	// Temp is the folder that it finds at /tmp, by its real path, which no other account can write. It stays when the
	// command ends. Empty: one of the command's own, which is removed then.
	Temp    string
	Network bool // whether it may use the network
	// Listen is called with a listener at ListenAddress in the command's own network, where no other has one, when
	// the command has begun. The listener is closed when the command is dead. nil, or with Network: there is none.
	Listen func(net.Listener)
	// Guard is a folder outside of Write, made when needed, to which is moved what the
	// command leaves below Guarded under a name that other programs execute (package
	// guard). What has such a name already is kept. Empty: names are not looked after.
	Guard   string
	Guarded []string // of Write, those in which another program works too; caches are not
	Forbid  []string // with Guard: files that must not come into being, whatever they hold
	// Overlay keeps what the command changes in Guarded from everything outside until it has ended and was checked (package
	// documentation). nil, or where the kernel or a file system cannot: it writes at once, and is watched.
	Overlay *Overlay
	Limits  Limits // when one is reached, everything of the command is killed
}

// Overlay configures where the changes of a command are kept until they are applied, and reports them. Its functions are called from
// one goroutine; nil ones are not.
type Overlay struct {
	Dir    string                                       // ramet's own, outside of Box.Write; made when needed
	Begun  func(folder string)                          // the command has begun: what it changes there is reported to After, and nothing else is the command's change
	Before func(folder string, paths []string)          // these are about to be replaced or removed
	After  func(folder string, changes []OverlayChange) // these were changed for the command
}

// OverlayChange is something that was changed in a folder for a command.
type OverlayChange struct {
	Path    string `json:"p"`           // below the folder, with slashes
	At      int64  `json:"t"`           // when it changed, on the clock of its file system, in nanoseconds: what is newer is another's change
	Removed bool   `json:"r,omitempty"` // there is nothing any more
	Whole   bool   `json:"w,omitempty"` // it is a new folder, with everything in it
}

// ListenAddress names the address at which a confined command finds Box.Listen. No program chooses this port by itself: it is above those
// that the kernel gives away.
const ListenAddress = "127.0.0.1:61080"

// Result describes how a command ended.
type Result struct {
	ExitCode int            // 128 + signal where a signal ended it
	Signal   syscall.Signal // 0: none
	Killed   bool           // by Kill or the end of the context
	Notes    string         // what else there is to say about it, in lines
}

// file finds the program.
func (c Command) file() (string, error) {
	if c.Path != "" {
		return c.Path, nil
	}
	return LookPath(c.Args[0], c.Dir, c.Env)
}

// LookPath finds a program as a command with this folder and environment would.
func LookPath(name, dir string, env []string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || filepath.IsAbs(name) {
		return name, nil
	}
	path := ""
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && executable(info) {
			return file, nil
		}
	}
	return "", fault.New(fault.NotFound, "start command: there is no program %.80q in the PATH", name).
		WithHint("install it, or say where it is")
}

// check refuses what cannot be run.
func (c Command) check() error {
	if len(c.Args) == 0 {
		return fault.New(fault.Usage, "start command: no program is named")
	}
	for _, s := range append(append([]string{c.Dir}, c.Args...), c.Env...) {
		if strings.IndexByte(s, 0) >= 0 {
			return fault.New(fault.InvalidText, "start command: NUL in %.80q", s).WithHint("leave it out")
		}
	}
	if !filepath.IsAbs(c.Dir) {
		return fault.New(fault.Usage, "start command: %.80q is not an absolute path of a folder", c.Dir)
	}
	return nil
}

// RealPath returns a path without links, as far as it exists.
func RealPath(path string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			rest, err := filepath.Rel(dir, path)
			if err != nil {
				return path
			}
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

// lull is the time for which the output must be silent, after the end of the command, before
// it is taken to be complete. It matters only if a process that outlives the
// command, such as a daemon, inherited the pipe.
const lull = 250 * time.Millisecond

// drain hands on what comes out of a pipe. The command can always write, so that a
// writer which fails does not stop it.
type drain struct {
	pipe *os.File
	dead atomic.Bool
	done chan struct{}
}

func newDrain(pipe *os.File, to io.Writer) *drain {
	d := &drain{pipe: pipe, done: make(chan struct{})}
	go d.run(to)
	return d
}

func (d *drain) run(to io.Writer) {
	defer close(d.done)
	buf := make([]byte, 64<<10)
	for {
		if d.dead.Load() {
			d.pipe.SetReadDeadline(time.Now().Add(lull))
		}
		n, err := d.pipe.Read(buf)
		if n > 0 && to != nil {
			if _, failed := to.Write(buf[:n]); failed != nil {
				to = nil
			}
		}
		if err != nil {
			return
		}
	}
}

// finish waits until all is handed on, after the command's end.
func (d *drain) finish() {
	d.dead.Store(true)
	d.pipe.SetReadDeadline(time.Now().Add(lull))
	<-d.done
}
