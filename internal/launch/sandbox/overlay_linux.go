package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// overlay is a command's view of the guarded folders: what it changes is in a folder of ramet's until it has ended.
type overlay struct {
	*Overlay
	temp   *tempFolder
	since  int64 // what changed in a folder after this time, on the clock of its file system, is another's change
	places []overlayPlace
	into   string // the quarantine
}

// overlayPlace is one folder of it. The helper gets it too.
type overlayPlace struct {
	Folder, Upper, Work string
	same                identity // of the folder
	never               []string // paths below it that must not come into being
}

// remote are the types of file systems whose clock is another machine's, or that do not tell when a file changed.
var remote = map[int64]bool{unix.NFS_SUPER_MAGIC: true, unix.SMB_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true,
	unix.FUSE_SUPER_MAGIC: true, unix.V9FS_MAGIC: true, unix.AFS_SUPER_MAGIC: true, unix.CEPH_SUPER_MAGIC: true, unix.MSDOS_SUPER_MAGIC: true, unix.EXFAT_SUPER_MAGIC: true}

// refusedOverlays has the folders in which an overlay could not be mounted, by the folder of ramet's and theirs.
var refusedOverlays sync.Map

// prepareOverlay makes what an overlay over the guarded folders of a box needs. An error says why there can be none.
func (b *Box) prepareOverlay() (o *overlay, err error) {
	switch {
	case b.Overlay == nil || b.Guard == "" || len(b.Guarded) == 0:
		return nil, errors.New("it is not asked for")
	case os.MkdirAll(b.Overlay.Dir, 0o700) != nil:
		return nil, fmt.Errorf("%s cannot be made", b.Overlay.Dir)
	}
	dir := RealPath(b.Overlay.Dir)
	if err := checkOverlayable(dir, b.Guarded, b.Write); err != nil {
		return nil, err
	}
	cleanOverlays(dir)
	var parts []string
	for i := range b.Guarded {
		parts = append(parts, fmt.Sprintf("upper%d", i), fmt.Sprintf("work%d", i))
	}
	temp, err := newTemp(dir, parts...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			temp.remove()
		}
	}()
	o = &overlay{Overlay: b.Overlay, temp: temp, into: b.Guard}
	for i, folder := range b.Guarded {
		p := overlayPlace{Folder: RealPath(folder), Upper: filepath.Join(temp.dir, parts[2*i]), Work: filepath.Join(temp.dir, parts[2*i+1])}
		if err := imitateFolder(p.Folder, p.Upper); err != nil {
			return nil, err
		}
		if p.same, err = identifyFolder(p.Folder); err != nil {
			return nil, err
		}
		p.never = absentBelow(p.Folder, slices.Concat(b.Forbid, obeyedElsewhere(p.Folder, ".git")))
		o.places = append(o.places, p)
	}
	var stat unix.Stat_t
	if err := unix.Lstat(o.places[0].Upper, &stat); err != nil {
		return nil, err
	}
	o.since = stat.Ctim.Nano()
	return o, nil
}

// checkOverlayable returns why no overlay is tried over these folders; nil: it is.
func checkOverlayable(dir string, folders, write []string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for i, folder := range folders {
		folder = RealPath(folder)
		var kind unix.Statfs_t
		var stat unix.Stat_t
		if err := errors.Join(unix.Statfs(folder, &kind), unix.Stat(folder, &stat)); err != nil {
			return err
		}
		switch why, known := refusedOverlays.Load(dir + "\x00" + folder); {
		case known:
			return why.(error)
		case remote[int64(kind.Type)]:
			return fmt.Errorf("the file system of %s is a remote one, or has no times that can be relied on", folder)
		case os.Geteuid() != 0 && (int(stat.Uid) != os.Geteuid() || int(stat.Gid) != os.Getegid()):
			return fmt.Errorf("%s belongs to another user or group", folder)
		case dir == folder || isBelow(dir, folder) || isBelow(folder, dir):
			return fmt.Errorf("%s and ramet's own %s are not apart", folder, dir)
		case slices.ContainsFunc(write, func(w string) bool { return isBelow(filepath.Clean(w), folder) }):
			return fmt.Errorf("another folder that may be written is in %s", folder)
		case slices.ContainsFunc(folders[:i], func(other string) bool { return RealPath(other) == folder }):
			return fmt.Errorf("%s is named twice", folder)
		}
		for line := range strings.Lines(string(table)) {
			if fields := strings.Fields(line); len(fields) > 4 && isBelow(unescapeMount.Replace(fields[4]), folder) {
				return fmt.Errorf("%s is mounted in %s", fields[4], folder)
			}
		}
	}
	return nil
}

var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// cleanOverlays removes, once, what killed ramets left.
func cleanOverlays(dir string) {
	once, _ := overlaysCleaned.LoadOrStore(dir, new(sync.Once))
	once.(*sync.Once).Do(func() { removeAbandoned(dir) })
}

var overlaysCleaned sync.Map

// imitateFolder gives a new folder the mode, owner and access list of another one.
func imitateFolder(from, to string) error {
	var stat unix.Stat_t
	if err := unix.Stat(from, &stat); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if err := unix.Chown(to, int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	for _, name := range []string{"system.posix_acl_access", "system.posix_acl_default"} {
		list := make([]byte, 64<<10)
		if n, err := unix.Getxattr(from, name, list); err == nil && n > 0 {
			if err := unix.Setxattr(to, name, list[:n], 0); err != nil {
				return err
			}
		}
	}
	return unix.Chmod(to, stat.Mode&0o7777)
}

// absentBelow returns those of the paths that are below a folder and do not exist, relative to it.
func absentBelow(folder string, paths []string) (out []string) {
	for _, f := range paths {
		f = RealPath(f) // a link on the way that comes later is the command's
		if _, err := os.Lstat(f); isBelow(f, folder) && errors.Is(err, fs.ErrNotExist) {
			rel, _ := filepath.Rel(folder, f)
			out = append(out, rel)
		}
	}
	return out
}

// refuse notes that the kernel mounts no overlay over these folders.
func (o *overlay) refuse(why error) {
	for _, p := range o.places {
		refusedOverlays.Store(filepath.Dir(o.temp.dir)+"\x00"+p.Folder, why)
	}
}

// CheckOverlay returns why commands that are confined to a folder have no overlay, with ramet's own folder for overlays; nil:
// they have one. It is found out by doing it.
func CheckOverlay(folder, dir string) error {
	b := &Box{Write: []string{folder}, Guarded: []string{folder}, Guard: filepath.Join(dir, "quarantine"), Overlay: &Overlay{Dir: dir}}
	if err := Available(); err != nil {
		return err
	}
	o, err := b.prepareOverlay()
	if err != nil {
		return err
	}
	defer o.temp.remove()
	in, err := b.resolve()
	if err != nil {
		return err
	}
	in.Overlay = o.places
	p, err := order{Box: in, Dry: true}.start(context.Background(), nil)
	if err == nil {
		_, err = p.Wait()
	}
	return err
}

// mountOverlay mounts an overlay over an open folder, and returns the mount.
func mountOverlay(folder int, p overlayPlace) (int, error) {
	fail := func(err error) (int, error) { return -1, &stepError{overlayStep, err} }
	made, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(made)
	options := [][2]string{{"lowerdir", fmt.Sprintf("/proc/self/fd/%d", folder)}} // a path could hold a comma or a colon
	for _, dir := range [][2]string{{"upperdir", p.Upper}, {"workdir", p.Work}} {
		fd, err := unix.Open(dir[1], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return fail(err)
		}
		defer unix.Close(fd)
		options = append(options, [2]string{dir[0], fmt.Sprintf("/proc/self/fd/%d", fd)})
	}
	for _, o := range append(options, [2]string{"index", "off"}, [2]string{"metacopy", "off"}) {
		if err := unix.FsconfigSetString(made, o[0], o[1]); err != nil {
			return fail(err)
		}
	}
	// With userxattr an ordinary user may mount it, and nothing in it but opaque folders and whiteouts has a meaning. With
	// volatile the end of the mount does not wait for all that other programs have written to the disk.
	for _, flag := range []string{"userxattr", "volatile"} {
		if err := unix.FsconfigSetFlag(made, flag); err != nil {
			return fail(err)
		}
	}
	if err := unix.FsconfigCreate(made); err != nil {
		return fail(err)
	}
	mount, err := unix.Fsmount(made, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return fail(err)
	}
	if err := unix.MoveMount(mount, "", folder, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		unix.Close(mount)
		return fail(err)
	}
	return mount, nil
}

// overlayStep is the step at which the helper fails if the kernel mounts no overlay.
const overlayStep = "overlay"
