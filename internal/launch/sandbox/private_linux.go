package sandbox

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
)

// Programs of the user have sockets and files in /tmp and /run: multiplexers, editors, agents, buses. A confined
// command finds a folder of its own at /tmp and an empty /run. What it needs there is mounted at its path: folders
// to be written, its program, and what its box shows.

// temporary names the place of the own folder of a command, and TMPDIR.
const temporary = "/tmp"

// socketPlace names the place at which a command finds Command.Socket.
const socketPlace = "/run/ramet/socket"

// temporaryVariables returns the environment of a confined command.
func temporaryVariables(env []string, socket string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		return strings.HasPrefix(pair, "TMPDIR=") || strings.HasPrefix(pair, "XDG_RUNTIME_DIR=")
	})
	out = append(out, "TMPDIR="+temporary)
	if socket != "" {
		out = append(out, SocketVariable+"="+socketPlace)
	}
	return out
}

// resolveTemporary finds out which folders are covered, and what the command sees in them all the same.
func (b *Box) resolveTemporary(in *inside) error {
	if b.Temp != "" {
		same, err := identifyFolder(b.Temp)
		if err != nil {
			return err
		}
		in.Tmp = filepath.Clean(b.Temp)
		in.Same[in.Tmp] = same
	}
	if info, err := os.Stat(temporary); err != nil || !info.IsDir() {
		return fault.New(fault.Denied, "confine command: there is no folder %s", temporary).WithHint("make it, with mode 1777")
	}
	if slices.Contains(in.Write, RealPath(temporary)) {
		return fault.New(fault.Denied, "confine command: %s is replaced by a folder of the command's own, so it cannot be a workspace", temporary).
			WithHint("work in a folder below %s", temporary)
	}
	home, _ := os.UserHomeDir()
	for _, dir := range []string{"/run", "/var/run", os.Getenv("TMUX_TMPDIR"), os.TempDir()} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(real) || real == "/" || real == RealPath(home) || real == RealPath(temporary) || isBelow(RealPath(temporary), real) ||
			slices.ContainsFunc(in.Write, func(w string) bool { return real == w || isBelow(real, w) }) {
			continue
		}
		in.Empty = append(in.Empty, real)
	}
	slices.Sort(in.Empty) // outer folders first
	in.Empty = slices.Compact(in.Empty)
	in.Show = append(slices.Clone(b.Show), home)
	in.Show = append(in.Show, filepath.SplitList(os.Getenv("PATH"))...)
	self, _ := os.Executable()
	in.Show = append(in.Show, self, "/run/current-system") // programs of NixOS
	if b.Network {
		if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
			in.Show = append(in.Show, real)
		}
	}
	return nil
}

// coverTemporary gives the command its own /tmp and empties the other folders, but for the given paths.
func (b *inside) coverTemporary(visible []string) error {
	tmp := RealPath(temporary)
	own, err := unix.Openat2(unix.AT_FDCWD, b.Tmp, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return atPath(b.Tmp, err)
	}
	defer unix.Close(own)
	if err := b.checkSame(b.Tmp, own); err != nil {
		return atPath(b.Tmp, err)
	}
	mount, err := unix.OpenTree(own, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return atPath(b.Tmp, err)
	}
	defer unix.Close(mount)
	if err := unix.MountSetattr(mount, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY, Attr_set: unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID}); err != nil {
		return atPath(b.Tmp, err)
	}
	socket := -1
	if b.Socket != "" {
		if socket, err = unix.OpenTree(unix.AT_FDCWD, b.Socket, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC); err != nil {
			return atPath(b.Socket, err)
		}
		defer unix.Close(socket)
	}
	visible = append(slices.Clone(visible), b.Show...)
	for _, dir := range b.Empty { // also below /tmp, where something visible can be around it
		if err := emptyFolder(dir, visible, socket); err != nil {
			return err
		}
	}
	kept, err := cloneBelow(tmp, visible)
	if err != nil {
		return err
	}
	defer closeTrees(kept)
	if err := unix.MoveMount(mount, "", unix.AT_FDCWD, tmp, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return atPath(tmp, err)
	}
	return placeInOwn(mount, tmp, kept)
}

// emptyFolder replaces a folder by an empty one with the visible paths in it. /run also has the socket, unless that is -1.
func emptyFolder(dir string, visible []string, socket int) error {
	kept, err := cloneBelow(dir, visible)
	if err != nil {
		return err
	}
	defer closeTrees(kept)
	if socket >= 0 && isBelow(socketPlace, dir) {
		kept = append(kept, detached{path: socketPlace, fd: socket, borrowed: true})
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return atPath(dir, err)
	}
	defer unix.Close(fd)
	return mountEmpty(fd, dir, kept)
}

// detached is a part of the file system that is not mounted yet, and the path at which it will be.
type detached struct {
	path     string
	fd       int
	isFolder bool
	borrowed bool // the descriptor is another's
}

func closeTrees(trees []detached) {
	for _, t := range trees {
		if !t.borrowed {
			unix.Close(t.fd)
		}
	}
}

// cloneBelow clones those of the paths that are below a folder, with all that is mounted there. What is below another
// of the paths comes with that; what is missing, and what is neither a folder nor a regular file, is left out.
func cloneBelow(dir string, paths []string) (out []detached, err error) {
	paths = slices.Clone(paths)
	for i, p := range paths {
		paths[i] = filepath.Clean(p)
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		if !isBelow(p, dir) || slices.ContainsFunc(out, func(t detached) bool { return isBelow(p, t.path) }) {
			continue
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, p, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if isGone(err) {
			continue
		}
		if err != nil {
			closeTrees(out)
			return nil, atPath(p, err)
		}
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR && stat.Mode&unix.S_IFMT != unix.S_IFREG {
			unix.Close(fd)
			continue
		}
		out = append(out, detached{path: p, fd: fd, isFolder: stat.Mode&unix.S_IFMT == unix.S_IFDIR})
	}
	return out, nil
}

// placeInOwn mounts trees below the command's own folder, which is mounted at dir already. What a command left there
// is not trusted: of each path only the first name is made in the folder, and the rest in a file system that the
// command cannot change. So an empty folder is all that remains.
func placeInOwn(own int, dir string, kept []detached) error {
	groups := map[string][]detached{}
	for _, t := range kept {
		name, _, _ := strings.Cut(strings.TrimPrefix(t.path, strings.TrimSuffix(dir, "/")+"/"), "/")
		groups[name] = append(groups[name], t)
	}
	for name, trees := range groups {
		at := filepath.Join(dir, name)
		alone := trees[0].path == at // then it is the only one
		isFolder := !alone || trees[0].isFolder
		fd, err := makeMountPoint(own, name, isFolder)
		if err != nil {
			return atPath(at, err)
		}
		if alone {
			err = unix.MoveMount(trees[0].fd, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
		} else {
			err = mountEmpty(fd, at, trees)
		}
		unix.Close(fd)
		if err != nil {
			return atPath(at, err)
		}
	}
	return nil
}

// makeMountPoint makes a folder or file in an open folder, in place of anything else of that name, and opens it.
func makeMountPoint(dir int, name string, isFolder bool) (int, error) {
	for range 100 { // another command of the agent may interfere
		flags, kind := unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(unix.S_IFREG)
		if isFolder {
			kind = unix.S_IFDIR
		}
		fd, err := unix.Openat(dir, name, flags, 0)
		switch {
		case err == nil:
			var stat unix.Stat_t
			if err = unix.Fstat(fd, &stat); err == nil && stat.Mode&unix.S_IFMT == kind {
				return fd, nil
			}
			unix.Close(fd)
			if err == nil {
				err = unix.Renameat(dir, name, dir, name+"."+rand.Text())
			}
		case !errors.Is(err, unix.ENOENT):
		case isFolder:
			err = unix.Mkdirat(dir, name, 0o700)
		default:
			err = unix.Mknodat(dir, name, unix.S_IFREG|0o600, 0)
		}
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOENT) {
			return -1, err
		}
	}
	return -1, unix.EBUSY
}

// mountEmpty mounts a read-only file system with nothing but the given trees on an open folder, which has that path.
func mountEmpty(fd int, dir string, trees []detached) error {
	if err := mountMemory(fd, dir); err != nil {
		return err
	}
	for _, t := range trees {
		err := os.MkdirAll(filepath.Dir(t.path), 0o755)
		if err == nil && t.isFolder {
			err = os.Mkdir(t.path, 0o755)
		} else if err == nil {
			err = os.WriteFile(t.path, nil, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return atPath(t.path, err)
		}
	}
	return setReadOnly(dir, true)
}

// mountMemory mounts a small file system in memory on an open folder.
func mountMemory(fd int, dir string) error {
	made, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return atPath(dir, err)
	}
	defer unix.Close(made)
	for _, o := range [][2]string{{"size", "1m"}, {"mode", "0755"}} {
		if err := unix.FsconfigSetString(made, o[0], o[1]); err != nil {
			return atPath(dir, err)
		}
	}
	if err := unix.FsconfigCreate(made); err != nil {
		return atPath(dir, err)
	}
	mount, err := unix.Fsmount(made, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return atPath(dir, err)
	}
	defer unix.Close(mount)
	return atPath(dir, unix.MoveMount(mount, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
}

// coverPath puts something empty over a path. Folders to be written that are below it stay where they are.
func coverPath(path string, writable []string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return bindMount(os.DevNull, path)
	}
	return emptyFolder(path, writable, -1)
}
