package control

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/store/database"
)

// Folder is the folder where the kernels of one workspace on this machine meet.
type Folder struct {
	// Clean takes our own credentials out of what other kernels are sent: they may not know them. nil: nothing is.
	Clean func(string) string

	dir  string
	host string
}

// At is the place of a workspace. db is its database, a file or a URL: of a file,
// the real path counts; of a URL, who connects and how does not.
func At(home, db string) Folder {
	sum := sha256.Sum256([]byte(identity(db)))
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return Folder{dir: filepath.Join(home, "kernels", hex.EncodeToString(sum[:8])), host: strings.ReplaceAll(host, ":", "_")}
}

// identity says which database it is, the same for everybody who uses it. It holds
// no credential.
func identity(db string) string {
	if database.IsPostgres(db) {
		pg, err := database.ParsePostgres(db)
		if err != nil {
			return "postgres" // nobody can open it
		}
		return pg.Place
	}
	if file, err := filepath.EvalSymlinks(db); err == nil {
		return file
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(db)); err == nil {
		return filepath.Join(dir, filepath.Base(db))
	}
	return filepath.Clean(db)
}

// owner is the name under which an instance holds leases.
func (p Folder) owner(instance string) string {
	return p.host + ":" + strconv.Itoa(os.Getpid()) + ":" + instance
}

// instance is the one of an owner, if it is one of this machine.
func (p Folder) instance(owner string) (string, bool) {
	fields := strings.Split(owner, ":")
	if len(fields) != 3 || fields[0] != p.host || !isInstance(fields[2]) {
		return "", false
	}
	return fields[2], true
}

// Near says whether the kernel of this name can be reached from here, or could be: it is of
// this machine, and meets others in this place.
func (p Folder) Near(owner string) bool {
	instance, ok := p.instance(owner)
	if !ok {
		return false
	}
	_, err := os.Stat(p.lock(instance))
	return err == nil
}

const instanceSize = 6 // bytes

// isInstance says whether a name is one that newInstance draws. It becomes part of
// a path.
func isInstance(name string) bool {
	return len(name) == 2*instanceSize && strings.Trim(name, "0123456789abcdef") == ""
}

func newInstance() string {
	var b [instanceSize]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (p Folder) lock(instance string) string { return filepath.Join(p.dir, instance+".lock") }
func (p Folder) sock(instance string) string { return filepath.Join(p.dir, instance+".sock") }

// Gone says that the kernel of this name is known to be dead: it was of this
// machine, and nobody holds its lock. False also where nobody can know.
func (p Folder) Gone(owner string) bool {
	instance, ok := p.instance(owner)
	return ok && p.gone(instance)
}

// gone looks with a shared lock, so that those who look do not see each other.
func (p Folder) gone(instance string) bool {
	path := p.lock(instance)
	if _, err := os.Stat(path); err != nil {
		return false // a kernel with another home, or one that left in good order
	}
	probe := flock.New(path)
	defer probe.Close()
	free, err := probe.TryRLock()
	return err == nil && free
}

// swept is how long the lock of a dead kernel stays, to tell those who meet its
// leases: longer than any of them lasts.
const swept = time.Minute

// instances lists the kernels that live, and sweeps away what dead ones left.
func (p Folder) instances() ([]string, error) {
	entries, err := os.ReadDir(p.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, durable.Failure("list kernels", p.dir, err)
	}
	var out []string
	for _, e := range entries {
		instance, ok := strings.CutSuffix(e.Name(), ".lock")
		if !ok || !isInstance(instance) {
			continue // not ours
		}
		if p.gone(instance) {
			p.sweep(instance)
			continue
		}
		out = append(out, instance)
	}
	return out, nil
}

// sweep removes what a dead kernel left, under its lock: one that looked dead may
// just not have taken it yet, and would lose the socket that it opens.
func (p Folder) sweep(instance string) {
	own := flock.New(p.lock(instance), flock.SetFlag(os.O_RDONLY)) // never made anew
	defer own.Close()
	if free, err := own.TryLock(); err != nil || !free {
		return
	}
	now := time.Now()
	if step.Remove(p.sock(instance)) == nil {
		os.Chtimes(p.lock(instance), now, now) // it was found dead now
		return
	}
	if info, err := os.Stat(p.lock(instance)); err == nil && now.Sub(info.ModTime()) > swept {
		step.Remove(p.lock(instance))
	}
}

// unanswered is the refusal of a verb whose agent is held by somebody who cannot be
// asked.
func unanswered(owner string, cause error) error {
	err := fault.New(fault.Leased, "the agent is held by %s, which does not answer", owner)
	if cause != nil {
		if http, ok := errors.AsType[*url.Error](cause); ok {
			cause = http.Err
		}
		if dial, ok := errors.AsType[*net.OpError](cause); ok {
			cause = dial.Err // without the path of the socket
		}
		err = fault.New(fault.Leased, "the agent is held by %s, which does not answer: %w", owner, cause)
	}
	return err.WithHint("use that process, or wait until its lease ends (15 s after it dies)")
}
