package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// shareMounts gives a contained command its own /proc, where the kernel allows it, and what it is to find
// in place of other files. Mounts from outside still come in; its own do not get out.
func shareMounts(files map[string]string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return nil // it has the mounts of others then, which are left alone
	}
	freshProc()
	return replaceFiles(files)
}

// replaceFiles mounts files and folders over others, read-only.
func replaceFiles(files map[string]string) error {
	for path, by := range files {
		err := bindMount(by, path)
		if err == nil {
			err = setReadOnly(path, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// freshProc is refused in containers that cover parts of /proc. The command then
// sees the host's, which promises nothing less but privacy.
func freshProc() {
	unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// enclose makes all mounts read-only but the folders that may be written, gives the command a private /tmp and an
// empty /run, and covers what may not be seen. No device can be opened but the harmless ones: a terminal is a
// file of the user that gives away what is typed there, a disk one that holds what is hidden.
// The command needs the given paths besides those of the box.
func (b *inside) enclose(files map[string]string, needed ...string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := replaceFiles(files); err != nil { // while they can be reached
		return err
	}
	shm := filepath.Join(b.Temp, "shm")
	var open []string // mounts that can be written
	var mounts []int  // of folders that can be written
	defer func() {
		for _, fd := range mounts {
			unix.Close(fd)
		}
	}()
	for _, dir := range append(slices.Clone(b.Write), b.ways()...) {
		fd, readOnly, err := b.mountFolder(dir)
		if err != nil {
			return atPath(dir, err)
		}
		if readOnly {
			unix.Close(fd)
			continue
		}
		mounts = append(mounts, fd)
	}
	if err := bindMount(shm, "/dev/shm"); err == nil {
		open = append(open, "/dev/shm")
	} else if !isGone(err) {
		return err
	}
	for _, k := range b.Keep {
		if err := bindMount(k, k); err != nil && !isGone(err) {
			return err
		}
	}
	var harmless []string
	for _, d := range devices {
		if err := bindMount(d, d); err == nil {
			harmless = append(harmless, d)
		} else if !isGone(err) {
			return err
		}
	}
	if err := setMount("/", unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV}, unix.AT_RECURSIVE); err != nil {
		return err
	}
	for _, d := range harmless {
		if err := setMount(d, unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_NODEV}, 0); err != nil {
			return err
		}
	}
	for _, w := range open {
		// This mount only: what is mounted below it may be read-only for a reason.
		if err := setReadOnly(w, false); err != nil {
			return err
		}
	}
	for _, fd := range mounts {
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	if err := b.coverTemporary(slices.Concat(needed, b.Write, slices.Collect(maps.Keys(files)))); err != nil {
		return err
	}
	for _, h := range b.Hide {
		if err := coverPath(h, b.Write); err != nil && !isGone(err) {
			return err
		}
	}
	for _, s := range b.Sockets {
		if err := bindMount(os.DevNull, s); err != nil && !isGone(err) {
			return err
		}
	}
	freshProc()
	return setReadOnly("/proc", true)
}

// mountFolder mounts a folder over itself and returns the mount, and whether it was read-only before. It
// follows no symbolic link, and names the folder once: a command that is still running could put a link
// in its place at any moment, and the mount would make another folder writable.
func (b *inside) mountFolder(path string) (mount int, readOnly bool, err error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, false, err
	}
	defer unix.Close(fd)
	if err := b.checkSame(path, fd); err != nil {
		return -1, false, err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return -1, false, err
	}
	if i := slices.IndexFunc(b.Overlay, func(p overlayPlace) bool { return p.Folder == path }); i >= 0 && fs.Flags&unix.ST_RDONLY == 0 {
		if mount, err = mountOverlay(fd, b.Overlay[i]); err == nil {
			b.Same[path], err = identityOf(mount)
		}
		return mount, false, err
	}
	mount, err = unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return -1, false, err
	}
	if err := unix.MoveMount(mount, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		unix.Close(mount)
		return -1, false, err
	}
	return mount, fs.Flags&unix.ST_RDONLY != 0, nil
}

// checkSame refuses a folder to be written that is not the one that was found when the box was made.
func (b *inside) checkSame(path string, fd int) error {
	if same, ok := b.Same[path]; ok {
		if now, err := identityOf(fd); err != nil || now != same {
			return errors.New("the folder was replaced while the command was prepared")
		}
	}
	return nil
}

// ways returns the folders on the way from a writable folder to what is hidden or kept in it. As
// mounts they cannot be renamed, with what is in them.
func (b *inside) ways() []string {
	var out []string
	for _, h := range slices.Concat(b.Hide, b.Fixed) {
		for _, w := range b.Write {
			kept := func(dir string) bool {
				return slices.ContainsFunc(b.Keep, func(k string) bool { return dir == k || isBelow(dir, k) })
			}
			for dir := filepath.Dir(h); isBelow(dir, w); dir = filepath.Dir(dir) {
				if !kept(dir) && !slices.Contains(b.Write, dir) && !slices.Contains(out, dir) {
					out = append(out, dir)
				}
			}
		}
	}
	slices.Sort(out) // outer folders first
	return out
}

// clear removes the temporary folder in ramet's stead, by the descriptor from outside: it is read-only here, and
// what is mounted in /tmp here is not in the folder there.
func (b *inside) clear() {
	unix.Unmount(temporary, unix.MNT_DETACH) // else folders that are mount points cannot be removed
	RemoveAll(fmt.Sprintf("/proc/self/fd/%d/%s", parentFD, filepath.Base(b.Temp)))
}

func bindMount(from, to string) error {
	return atPath(to, unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""))
}

func setReadOnly(path string, on bool) error {
	if on {
		return setMount(path, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}, 0)
	}
	return setMount(path, unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}, 0)
}

func setMount(path string, attr unix.MountAttr, flags uint) error {
	return atPath(path, unix.MountSetattr(unix.AT_FDCWD, path, flags, &attr))
}

func atPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "mount", Path: path, Err: err}
}

// isGone reports whether there is nothing to cover or to keep, or nothing that this user
// could reach.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES)
}

func isBelow(path, folder string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// loopback brings up the command's own.
func (b *inside) loopback() error {
	if b.Network {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
