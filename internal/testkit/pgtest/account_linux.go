package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that PostgreSQL runs as where that is not us.
type account struct {
	name     string
	uid, gid uint32
}

// serverUser is nil for ordinary users. PostgreSQL refuses to run as root, so
// root gets another account.
func serverUser() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &account{name, uint32(uid), uint32(gid)}, nil
	}
	return nil, errors.New("we are root and there is neither a user postgres nor a user nobody")
}

// attributes make a child die with the thread that starts it (SIGQUIT is
// PostgreSQL's immediate shutdown, which also frees its shared memory), keep
// the terminal's Ctrl-C from it, and change its user.
func attributes(a *account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// makeFolder makes the server's folder: the account's own, and closed to
// others. TMPDIR may lie where the account cannot go, or too deep for the
// path of a socket; then /tmp has to do.
func makeFolder(a *account) (string, error) {
	var why error
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		parent, err := filepath.Abs(parent)
		if err != nil {
			return "", err
		}
		if err := usable(parent, a); err != nil {
			why = errors.Join(why, err)
			continue
		}
		dir, err := os.MkdirTemp(parent, "ramet-pg-")
		if err != nil {
			why = errors.Join(why, err)
			continue
		}
		if a == nil {
			return dir, nil
		}
		if err := os.Chown(dir, int(a.uid), int(a.gid)); err != nil {
			return "", errors.Join(err, os.Remove(dir))
		}
		return dir, nil
	}
	return "", why
}

// socketPath limits the path of a socket on Linux; socketName is what we add to the parent folder.
const (
	socketPath = 107
	socketName = "/ramet-pg-1234567890/.s.PGSQL." + port + ".lock"
)

// usable returns an error if the folder at this absolute path is unsuitable.
func usable(parent string, a *account) error {
	for dir := parent; a != nil; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("user %s cannot reach %s: chmod o+x %s", a.name, parent, dir)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if len(parent)+len(socketName) > socketPath {
		return fmt.Errorf("%s is too long for the path of a socket", parent)
	}
	return nil
}
