package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// applier checks what a command changed in a folder, and then applies it.
type applier struct {
	overlayPlace
	since    int64
	up, down *os.Root // the upper layer, and the folder
	q        quarantine
	steps    []applyStep
	moved    []GuardMoved
	obeyed   []string        // files and folders that git obeys because a repository in the folder says so
	busy     map[string]bool // repositories in which another program changed something; true: more than the index is lost by it
}

// applyStep is one change of the folder.
type applyStep struct {
	path   string
	act    applyAct
	was    unix.Stat_t // what the folder has there; Nlink 0: nothing
	is     unix.Stat_t // what it is to have
	repo   string      // the repository that contains it; empty: none
	weight int         // lower ones first
}

type applyAct int

const (
	putFile   applyAct = iota // or a folder with everything in it
	putFolder                 // an empty one
	putMode
	remove
)

// layer describes the folder that is being checked.
type layer struct {
	path   string
	down   int    // the folder itself, -1 if it does not exist
	opaque bool   // what it has does not show through
	inside bool   // it is a part of a new folder, which is moved as a whole
	judged bool   // it is a part of something that was judged as a whole
	repo   string // the repository of git that contains it, which was there before; empty: none
}

// at returns the path of a name in the folder.
func (l layer) at(name string) string { return path.Join(l.path, name) }

// inRepo returns a path as the repository has it.
func (l layer) inRepo(at string) string {
	if l.repo == "." {
		return at
	}
	return strings.TrimPrefix(at, l.repo+"/")
}

func isFolder(s unix.Stat_t) bool   { return s.Mode&unix.S_IFMT == unix.S_IFDIR }
func isRegular(s unix.Stat_t) bool  { return s.Mode&unix.S_IFMT == unix.S_IFREG }
func isWhiteout(s unix.Stat_t) bool { return s.Mode&unix.S_IFMT == unix.S_IFCHR && s.Rdev == 0 }

// statIn returns what a folder has under a name; ok is false if there is nothing, or no folder.
func statIn(dir int, name string) (s unix.Stat_t, ok bool) {
	return s, dir >= 0 && unix.Fstatat(dir, name, &s, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// openIn opens a folder in another one.
func openIn(dir int, name string) int {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// namesIn lists an open folder.
func namesIn(dir int) []string {
	fd := openIn(dir, ".")
	if fd < 0 {
		return nil
	}
	f := os.NewFile(uintptr(fd), "folder")
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	slices.Sort(names)
	return names
}

// listBelow lists a folder in an open one.
func listBelow(dir int, name string) []string {
	fd := openIn(dir, name)
	if fd < 0 {
		return nil
	}
	defer unix.Close(fd)
	return namesIn(fd)
}

func hasParts(names []string) bool {
	return takesForRepository(func(part string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.ToLower(name) == part })
	})
}

func isPart(name string) bool { return slices.Contains(parts, strings.ToLower(name)) }

// refuse puts something that the command made aside.
func (a *applier) refuse(at, why string) { a.moved = append(a.moved, a.q.move(at, why)) }

// keep notes that something stays that the command removed.
func (a *applier) keep(at, why string) {
	a.moved = append(a.moved, GuardMoved{Path: at, Why: "it stays: " + why})
}

const (
	whyChanged = "another program changed it while the command ran, and that version stays"
	whyGone    = "another program removed it while the command ran"
	whyActs    = "other programs execute or obey it, and a command may not change it"
	whyBusy    = "another program changed this repository while the command ran, so that nothing which git did was applied"
)

// stray puts aside what the command did where another program changed something.
func (a *applier) stray(at, why string, l layer) {
	m := a.q.move(at, why)
	m.Aside = true
	if l.repo != "" {
		a.occupy(l.repo, l.inRepo(at)) // this is said once for all of it
		return
	}
	a.moved = append(a.moved, m)
}

// occupy notes that a change of a repository is not applied. To lose what git status writes is not worth a word.
func (a *applier) occupy(repo, rel string) { a.busy[repo] = a.busy[repo] || rel != "index" }

// changed reports whether another program changed a file since the command began.
func (a *applier) changed(s unix.Stat_t) bool { return s.Ctim.Nano() > a.since }

// changedFolder reports whether another program made or removed a name in a folder since the command began.
func (a *applier) changedFolder(down int) bool {
	stat, ok := statIn(down, ".")
	return ok && a.changed(stat)
}

// upper returns the path of something in the upper layer.
func (a *applier) upper(at string) string { return filepath.Join(a.Upper, at) }

// hasMark reports whether the kernel marked something in the upper layer: opaque, or copied from the folder (origin, without a
// value for ordinary users).
func (a *applier) hasMark(at, mark string) bool {
	_, err := unix.Lgetxattr(a.upper(at), "user.overlay."+mark, nil)
	return err == nil
}

// strip removes the kernel's marks.
func (a *applier) strip(at string) {
	names := make([]byte, 4096)
	n, err := unix.Llistxattr(a.upper(at), names)
	if err != nil {
		return
	}
	for name := range bytes.SplitSeq(names[:n], []byte{0}) {
		if strings.HasPrefix(string(name), "user.overlay.") {
			unix.Lremovexattr(a.upper(at), string(name))
		}
	}
}

// checkFolder checks what the upper layer has in a folder.
func (a *applier) checkFolder(l layer) {
	up, err := unix.Open(a.upper(l.path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) { // the command closed it
		var stat unix.Stat_t
		if unix.Lstat(a.upper(l.path), &stat) == nil && unix.Chmod(a.upper(l.path), 0o700) == nil {
			defer unix.Chmod(a.upper(l.path), stat.Mode&0o7777)
			up, err = unix.Open(a.upper(l.path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		}
	}
	if err != nil {
		a.refuse(l.path, fmt.Sprintf("it cannot be read: %v", err))
		return
	}
	defer unix.Close(up)
	names := namesIn(up)
	if _, ok := statIn(l.down, ".git"); ok && l.repo == "" {
		for _, dir := range obeyedElsewhere(a.Folder, l.at(".git")) {
			if rel, err := filepath.Rel(a.Folder, dir); err == nil {
				a.obeyed = append(a.obeyed, rel)
			}
		}
	}
	if !l.judged && l.repo == "" && !a.checkParts(&l, up, names) {
		return
	}
	for _, name := range names {
		if stat, ok := statIn(up, name); ok {
			a.check(l, name, stat)
		}
	}
	if l.opaque {
		for _, name := range namesIn(l.down) {
			if stat, ok := statIn(l.down, name); ok && !slices.Contains(names, name) {
				a.checkRemoval(l, name, stat)
			}
		}
	}
}

// checkParts judges a folder that git takes for a repository although it is not called .git. It reports whether anything in it is
// still to be checked.
func (a *applier) checkParts(l *layer, up int, names []string) bool {
	var added []string
	for _, name := range names {
		if s, ok := statIn(up, name); ok && isPart(name) && !isWhiteout(s) {
			added = append(added, name)
		}
	}
	if len(added) == 0 {
		return true
	}
	before := namesIn(l.down)
	if hasParts(before) {
		l.repo = l.path
		return true
	}
	known := slices.ContainsFunc(before, isPart)
	if !hasParts(append(slices.Clone(before), added...)) {
		return true
	}
	why := "it would become a part of a repository"
	if !known {
		if why = judgeRepository(a.up, l.path); why == "" {
			l.judged = true
			return true
		}
	}
	if l.down < 0 {
		a.refuse(l.path, why)
		return false
	}
	for _, name := range added {
		a.refuse(l.at(name), why)
	}
	return true
}

// check checks one name of the upper layer.
func (a *applier) check(l layer, name string, is unix.Stat_t) {
	at := l.at(name)
	was, there := statIn(l.down, name)
	white := isWhiteout(is)
	merged := there && isFolder(is) && isFolder(was)
	opaque := merged && a.hasMark(at, "opaque")
	next := l
	switch never := slices.ContainsFunc(a.never, func(n string) bool { return at == n || !isFolder(is) && isBelow(n, at) }); {
	case white && !there:
		if l.inside {
			unix.Unlink(a.upper(at)) // of a folder that was put together from others
		}
		return
	case never && !white:
		a.refuse(at, "ramet or git would obey it")
		return
	case len(at) > deepest:
		a.refuse(at, "it is too deep to be read")
		return
	}
	if !merged && slices.ContainsFunc(a.obeyed, func(dir string) bool { return at == dir || isBelow(at, dir) }) {
		if white {
			a.keep(at, whyActs)
		} else if !there || !a.unchanged(at, l.down, name, is, was) {
			a.refuse(at, whyActs)
		}
		return
	}
	if l.repo == "" && !l.judged {
		if k, ok := kindAt(l.path, name, isFolder(is) || white && isFolder(was)); ok {
			isRepository, empty := false, false
			if k == repository && merged && !opaque {
				before := listBelow(l.down, name)
				isRepository, empty = hasParts(before), len(before) == 0
			}
			switch {
			case isRepository:
				next.repo = at
			case there && white:
				a.keep(at, whyActs)
				return
			case there && !empty:
				if !a.unchanged(at, l.down, name, is, was) {
					a.refuse(at, whyActs)
				}
				return
			default:
				if why := judgeThing(a.up, thing{path: at, kind: k}); why != "" {
					a.refuse(at, why)
					return
				}
				next.judged = true
			}
		}
	}
	switch {
	case white:
		a.checkRemoval(l, name, was)
	case isFolder(is):
		a.checkSub(next, l, name, is, was, opaque)
	default:
		a.checkFile(l, name, is, was, there)
	}
}

// unchanged reports whether a name that acts is as it was: a folder in which nothing is different, or a file of the same content.
func (a *applier) unchanged(at string, down int, name string, is, was unix.Stat_t) bool {
	if isFolder(is) && isFolder(was) {
		names, err := os.ReadDir(a.upper(at))
		return is.Mode == was.Mode && !a.hasMark(at, "opaque") && err == nil && len(names) == 0
	}
	return is.Mode == was.Mode && a.sameContent(at, down, name, is, was)
}

// checkSub checks a folder of the upper layer.
func (a *applier) checkSub(next, l layer, name string, is, was unix.Stat_t, opaque bool) {
	at := l.at(name)
	next.path, next.opaque, next.down = at, opaque, -1
	there := was.Nlink > 0
	if there && isFolder(was) {
		if next.down = openIn(l.down, name); next.down < 0 {
			a.refuse(at, "the folder cannot be read")
			return
		}
		defer unix.Close(next.down)
		if next.repo != "" && hasParts(namesIn(next.down)) {
			next.repo = at // of a module or worktree
		}
		if is.Mode != was.Mode && next.repo == "" && !a.changed(was) {
			a.step(l, applyStep{path: at, act: putMode, is: is, was: was})
		}
		a.checkFolder(next)
		return
	}
	switch {
	case l.inside:
	case a.hasMark(at, "origin"):
		a.stray(at, whyGone, l)
		return
	case there && a.changed(was):
		a.stray(at, whyChanged, l)
		return
	}
	if l.repo != "" {
		if why := judgeInRepository(l.inRepo(at), true, false, nil); why != "" {
			a.refuse(at, why)
			return
		}
		a.step(l, applyStep{path: at, act: putFolder, is: is, was: was})
		a.checkFolder(next)
		return
	}
	next.inside = true
	a.strip(at)
	a.checkFolder(next)
	if !l.inside && exists(a.upper(at)) { // else it was refused
		a.step(l, applyStep{path: at, act: putFile, is: is, was: was})
	}
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// checkFile checks what is not a folder.
func (a *applier) checkFile(l layer, name string, is, was unix.Stat_t, there bool) {
	at := l.at(name)
	if l.repo != "" {
		if why := a.judgeInRepo(l, name, is, there); why != "" {
			if !there || !a.sameContent(at, l.down, name, is, was) {
				a.refuse(at, why)
			}
			return
		}
	}
	s := applyStep{path: at, act: putFile, is: is, was: was}
	switch copied := a.hasMark(at, "origin"); {
	case l.inside:
		a.strip(at)
		return
	case there && isFolder(was):
		if !a.checkRemoval(l, name, was) {
			a.stray(at, whyChanged, l)
			return
		}
		s.was = unix.Stat_t{}
	case there && a.sameContent(at, l.down, name, is, was):
		if is.Mode == was.Mode {
			return
		}
		if s.act = putMode; a.changed(was) {
			return
		}
	case there && a.changed(was):
		a.stray(at, whyChanged, l)
		return
	case !there && copied && a.changedFolder(l.down): // else the command renamed it
		a.stray(at, whyGone, l)
		return
	}
	a.strip(at)
	a.step(l, s)
}

// judgeInRepo returns why a file of a repository may not be changed; empty: it may.
func (a *applier) judgeInRepo(l layer, name string, is unix.Stat_t, there bool) string {
	at := l.at(name)
	content := func() string { text, _ := readPlain(a.up, at); return text }
	if l.inRepo(at) == "config" && there && isRegular(is) {
		was, err := readPlain(a.down, at)
		if err != nil {
			return whyActs
		}
		return judgeConfigChange(was, content())
	}
	return judgeInRepository(l.inRepo(at), false, isRegular(is), content)
}

// checkRemoval plans to remove what the command removed, and reports whether all of it goes.
func (a *applier) checkRemoval(l layer, name string, was unix.Stat_t) bool {
	at := l.at(name)
	if l.repo != "" {
		rel := l.inRepo(at)
		known := gitObjects().MatchString(rel) || gitFiles().MatchString(rel) || gitFolders().MatchString(rel) || strings.HasPrefix(rel, "rebase-merge/") || strings.HasPrefix(rel, "sequencer/")
		if !known || gitLasting().MatchString(rel) {
			a.keep(at, whyActs)
			return false
		}
	} else if _, ok := kindAt(l.path, name, isFolder(was)); ok {
		a.keep(at, whyActs)
		return false
	}
	if !isFolder(was) {
		if a.changed(was) {
			if l.repo != "" {
				a.occupy(l.repo, l.inRepo(at))
			} else {
				a.keep(at, whyChanged)
			}
			return false
		}
		a.step(l, applyStep{path: at, act: remove, was: was})
		return true
	}
	fd := openIn(l.down, name)
	if fd < 0 {
		a.keep(at, "it cannot be read")
		return false
	}
	defer unix.Close(fd)
	names := namesIn(fd)
	if l.repo == "" && hasParts(names) {
		a.keep(at, whyActs)
		return false
	}
	all, in := true, layer{path: at, down: fd, repo: l.repo}
	for _, name := range names {
		if stat, ok := statIn(fd, name); ok {
			all = a.checkRemoval(in, name, stat) && all
		}
	}
	if all {
		a.step(l, applyStep{path: at, act: remove, was: was})
	}
	return all
}

// step plans a change. Of a repository objects come first, and what refers to them last.
func (a *applier) step(l layer, s applyStep) {
	s.repo, s.weight = l.repo, 1
	if l.repo != "" {
		if s.weight = 2; strings.HasPrefix(l.inRepo(s.path), "objects/") && s.act != remove {
			s.weight = 0
		}
	}
	if s.act == putMode && isFolder(s.is) && s.is.Mode&0o300 != 0o300 {
		s.weight = 3 // after what is written in it
	}
	a.steps = append(a.steps, s)
}

// sameContent reports whether a file that was opened for writing has the content that it had.
func (a *applier) sameContent(at string, down int, name string, is, was unix.Stat_t) bool {
	if !isRegular(is) || !isRegular(was) || is.Size != was.Size || is.Mtim != was.Mtim || is.Uid != was.Uid || is.Gid != was.Gid {
		return false
	}
	one, err := os.Open(a.upper(at))
	if err != nil {
		return false
	}
	defer one.Close()
	fd, err := unix.Openat(down, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	other := os.NewFile(uintptr(fd), name)
	defer other.Close()
	var x, y [64 << 10]byte
	for {
		n, errOne := io.ReadFull(one, x[:])
		m, errOther := io.ReadFull(other, y[:])
		if n != m || !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if errOne != nil || errOther != nil {
			return errOne == errOther && (errOne == io.EOF || errOne == io.ErrUnexpectedEOF)
		}
	}
}
