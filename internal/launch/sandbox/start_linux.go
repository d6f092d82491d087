package sandbox

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
)

// ways are tried in this order; best is the first that the kernel was not found to
// refuse.
var (
	ways = []way{{Spaces: true}, {Spaces: true, User: true}, {}}
	best atomic.Int32
)

// Start runs a command. When ctx ends it is killed. A nil error means that the
// command's program was started; Wait must then be called.
func Start(ctx context.Context, c Command) (*Process, error) {
	defer c.Speaks.close()
	if err := c.check(); err != nil {
		return nil, err
	}
	path, err := c.file()
	if err != nil {
		return nil, err
	}
	o := order{Path: path, Args: c.Args, Dir: c.Dir, Env: c.Env, Umask: c.Umask, Replace: c.Replace, For: c.For, socket: c.Socket, speaks: c.Speaks}
	if c.Confine != nil {
		if err := Available(); err != nil {
			return nil, err
		}
		if o.Box, err = c.Confine.resolve(); err != nil {
			return nil, err
		}
		if !c.Confine.Network {
			o.listen = c.Confine.Listen
		}
		if p, err := o.startOverlaid(ctx, c); p != nil || err != nil {
			return p, err
		}
		if o.watch, err = c.Confine.watch(o.Box); err != nil {
			return nil, err
		}
	}
	return o.start(ctx, c.Output)
}

// startOverlaid starts a confined command with an overlay; nil: there can be none.
func (o order) startOverlaid(ctx context.Context, c Command) (*Process, error) {
	over, err := c.Confine.prepareOverlay()
	if err != nil {
		return nil, nil
	}
	in := *o.Box
	in.Overlay, in.Since = over.places, over.since
	in.Keep = slices.DeleteFunc(slices.Clone(in.Keep), func(path string) bool {
		return slices.ContainsFunc(over.places, func(p overlayPlace) bool { return path == filepath.Join(p.Folder, ".git") }) // what changes in it is judged
	})
	for _, p := range over.places {
		for _, at := range obeyedElsewhere(p.Folder, ".git") {
			if real, err := filepath.EvalSymlinks(at); err == nil {
				in.Keep = append(in.Keep, real)
			}
		}
	}
	in.Same = maps.Clone(in.Same)
	in.Hide = append(slices.Clone(in.Hide), filepath.Dir(over.temp.dir))
	o.Box, o.overlay = &in, over
	p, err := o.start(ctx, c.Output)
	var refused *refusal
	if err != nil {
		over.temp.remove()
		if errors.As(err, &refused) && refused.step == overlayStep {
			if refused.denied {
				over.refuse(refused)
			}
			return nil, nil
		}
	}
	return p, err
}

// start gives a confined command its temporary folder and starts it.
func (o order) start(ctx context.Context, output io.Writer) (*Process, error) {
	if o.Box == nil {
		return firstWay(ctx, o, nil, output)
	}
	temp, err := newTemp("", "tmp", "shm")
	if err != nil {
		return nil, err
	}
	o.Box.Temp = temp.dir
	if o.Box.Tmp == "" {
		o.Box.Tmp = filepath.Join(temp.dir, "tmp")
	}
	o.Box.Socket = o.socket
	o.Env = temporaryVariables(o.Env, o.socket)
	p, err := firstWay(ctx, o, temp, output)
	if err != nil {
		temp.remove()
		if o.watch != nil {
			o.watch.End() // it may have run, and killed its helper
		}
	}
	return p, err
}

// firstWay starts the helper in the first way that the kernel allows. What it refuses
// is found out before the command runs. A confined command needs namespaces.
func firstWay(ctx context.Context, o order, temp *tempFolder, output io.Writer) (*Process, error) {
	var last *refusal
	for i := int(best.Load()); i < len(ways); i++ {
		if o.Box != nil && !ways[i].Spaces {
			continue
		}
		o.Way = ways[i]
		p, err := startHelper(ctx, o, temp, output)
		if !errors.As(err, &last) {
			return p, err
		}
		if !last.denied || last.step == overlayStep {
			break
		}
		if o.Box == nil {
			best.CompareAndSwap(int32(i), int32(i+1))
		}
	}
	if last == nil {
		last = &refusal{step: "namespaces", why: "the kernel does not allow any to this user"}
	}
	code := fault.Failed
	if o.Box != nil {
		code = fault.Denied
	}
	return nil, fault.New(code, "start command: %w", last)
}

// startHelper starts the helper in one way, and waits until the command runs.
func startHelper(ctx context.Context, o order, temp *tempFolder, output io.Writer) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.New(fault.Cancelled, "start command: %w", err)
	}
	mark := ""
	if !o.Way.Spaces {
		mark = newMark()
		o.Env = append(slices.Clone(o.Env), mark)
	}
	o.Confined = o.Box != nil
	var pipes pipeSet
	controlR, controlW := pipes.open()
	reportR, reportW := pipes.open()
	outR, outW := pipes.open()
	if pipes.err != nil {
		pipes.close()
		return nil, pipes.err
	}
	cmd := &exec.Cmd{
		// Not by its path: the binary may have been replaced meanwhile.
		Path: "/proc/self/exe", Args: []string{marker}, Env: []string{}, Dir: "/",
		Stdout: outW, Stderr: outW, ExtraFiles: []*os.File{controlR, reportW},
		SysProcAttr: namespaceAttributes(o),
	}
	if o.speaks != nil {
		cmd.Stdin, cmd.Stdout = o.speaks.In, o.speaks.Out
	}
	if o.Box != nil {
		parent, err := os.Open(filepath.Dir(o.Box.Temp))
		if err != nil {
			pipes.close()
			return nil, fault.New(fault.StorageIO, "confine command: %w", err)
		}
		defer parent.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, parent)
	}
	if o.watch != nil {
		into, err := os.Open(filepath.Dir(o.watch.Into()))
		if err != nil {
			pipes.close()
			return nil, fault.New(fault.StorageIO, "confine command: %w", err)
		}
		defer into.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, into)
		o.Guarded, o.Quarantine = o.watch.State(), filepath.Base(o.watch.Into())
	}
	var ours, theirs *os.File // the ends of a socket for the listener
	if o.listen != nil {
		var err error
		if ours, theirs, err = socketPair(); err != nil {
			pipes.close()
			return nil, fault.New(fault.Failed, "confine command: %w", err)
		}
		defer ours.Close()
		defer theirs.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
		o.ListenFD = controlFD - 1 + len(cmd.ExtraFiles)
	}
	var group *group
	if o.Box != nil {
		group = newGroup(o.Box.Limits)
		group.enter(cmd.SysProcAttr)
	}
	err := cmd.Start()
	if err != nil && group != nil && !groupless.Swap(true) {
		// The kernel has groups, but allows no process to begin in one: once more, without.
		group.remove()
		pipes.close()
		return startHelper(ctx, o, temp, output)
	}
	controlR.Close()
	reportW.Close()
	outW.Close()
	if err != nil {
		group.remove()
		pipes.close()
		return nil, &refusal{step: "start the helper", why: err.Error(), denied: isDenied(err)}
	}
	if o.For != nil {
		callers.Store(cmd.Process.Pid, Caller{*o.For, o.Box != nil})
	}
	p := &Process{cmd: cmd, way: o.Way, mark: mark, control: controlW, temp: temp, watch: o.watch, overlay: o.overlay, group: group, done: make(chan struct{})}
	if o.Way.Spaces {
		p.space, _ = os.Open(fmt.Sprintf("/proc/%d/ns/pid", cmd.Process.Pid))
	}
	stop := context.AfterFunc(ctx, p.Kill)
	reports := bufio.NewReader(reportR)
	var first report
	if err = gob.NewEncoder(controlW).Encode(o); err == nil {
		err = readReport(reports, &first)
	}
	if err == nil && first.Step == "" && ours != nil {
		p.listener, err = receiveListener(ours)
	}
	if err != nil || first.Step != "" {
		stop()
		p.Kill()
		callers.Delete(cmd.Process.Pid)
		cmd.Wait()
		left := p.leftOver() // the command may have run, and killed its helper
		p.space.Close()
		group.remove()
		pipes.close()
		switch {
		case len(left) > 0:
			return nil, reportSurvivors(left)
		case ctx.Err() != nil:
			return nil, fault.New(fault.Cancelled, "start command: %w", ctx.Err())
		case err != nil: // not a refusal: another try could run the command twice
			return nil, fault.New(fault.Failed, "start command: its helper ended early: %s", cmd.ProcessState)
		case first.Step == "exec":
			return nil, fault.New(fault.Failed, "start %s in %s: %s", o.Path, o.Dir, first.Why)
		}
		return nil, &refusal{step: first.Step, why: first.Why, denied: first.Denied}
	}
	if p.listener != nil {
		o.listen(p.listener)
	}
	if o.overlay != nil && o.overlay.Begun != nil {
		for _, place := range o.overlay.places {
			o.overlay.Begun(place.Folder)
		}
	}
	go p.follow(stop, reports, newDrain(outR, output), []*os.File{reportR, outR})
	return p, nil
}

// namespaceAttributes returns the namespaces of the helper.
func namespaceAttributes(o order) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !o.Way.Spaces {
		return attr
	}
	attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	if o.Box != nil {
		attr.Cloneflags |= unix.CLONE_NEWIPC
		if !o.Box.Network {
			attr.Cloneflags |= unix.CLONE_NEWNET
		}
	}
	if o.Way.User {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = needed
	}
	return attr
}

// refusal is a way that the kernel does not allow, or that failed.
type refusal struct {
	step, why string
	denied    bool
}

func (r *refusal) Error() string { return r.step + ": " + r.why }

// Available reports whether commands can be confined here: nil, or a DENIED fault that
// names what is missing. The answer is found by doing it, once; what
// killed ramets left in the temporary folder is removed on that occasion.
func Available() error { return available() }

var available = sync.OnceValue(func() error {
	missing := func(err error) error {
		return fault.New(fault.Denied, "commands cannot be confined on this system: %w", err).
			WithHint("ramet asks before each command; Linux 6.2 or newer with Landlock and, for users other than root, user namespaces would change that")
	}
	if _, err := landlockABI(); err != nil {
		return missing(err)
	}
	in, err := (&Box{}).resolve()
	if err != nil {
		return missing(err)
	}
	removeAbandoned(os.TempDir())
	p, err := order{Box: in, Dry: true}.start(context.Background(), nil)
	if err != nil {
		return missing(err)
	}
	if _, err := p.Wait(); err != nil {
		return missing(err)
	}
	return nil
})

// marker is the name under which the binary is its own helper.
const marker = "ramet-sandbox"

// The helper's descriptors: it reads its order from the one, whose end is also
// the end of ramet, and reports on the other. The third is the folder
// in which a confined command's temporary folder is, and the fourth, where names are
// looked after, that in which the quarantine is or will be.
const (
	controlFD = 3
	reportFD  = 4
	parentFD  = 5
	guardFD   = 6
)

// way describes how a command's processes are held together.
type way struct {
	Spaces bool // namespaces; else a subreaper
	User   bool // with a user namespace, which an ordinary user needs
}

// order is sent to the helper. It is encoded as gob, which leaves texts as they are;
// JSON would not, where they are no UTF-8.
type order struct {
	Way      way
	Path     string
	Args     []string
	Dir      string
	Env      []string
	Umask    string
	Replace  map[string]string
	Confined bool    // that there is a box, said twice
	Box      *inside // nil: not confined
	Dry      bool    // prepare all and run nothing
	For      *Mark   // what it bears; nil: nothing

	// Guarded lets the helper look after names in ramet's stead; nil: it does not.
	Guarded    *GuardState
	Quarantine string // its name in the folder of guardFD

	ListenFD int // the descriptor on which the helper sends a listener; 0: it makes none

	watch   *GuardWatch // these stay here
	overlay *overlay
	socket  string
	listen  func(net.Listener)
	speaks  *Speech
}

// inside is a Box with what ramet found out for the helper: real paths.
type inside struct {
	Write, Keep, Hide []string
	Fixed             []string            // of Keep, what also stays at its path: all but what the guard found
	Same              map[string]identity // of the folders of Write
	Sockets           []string            // to be covered
	Temp              string              // the command's own folder; see tempFolder
	Tmp               string              // the folder that it finds at /tmp
	Empty             []string            // folders that it finds empty, but for what it needs in them
	Show              []string            // what it sees in these, and in /tmp
	Socket            string              // what it finds at socketPlace; empty: nothing
	Network           bool
	Limits            Limits // without zeros
	Overlay           []overlayPlace
	Since             int64 // see overlay
}

// report is a line of JSON from the helper: that the command
// runs or why not, and how it ended.
type report struct {
	Step   string // what failed; empty: nothing
	Why    string
	Denied bool // the kernel does not allow it, now or later

	Code, Signal int
	Limit        string // that was hit; empty: none
}
