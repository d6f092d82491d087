package files

import (
	"strings"
)

// ChangeTime tells of paths that changed between two walks when that was, in nanoseconds: of a file its
// ctime, of what is not there that of the nearest folder above. What only came with a folder that
// was moved kept its ctime: it changed when that folder did. false: unknown.
func ChangeTime(before, after *Index, changes []Change) func(path string) (int64, bool) {
	left := map[uint64]ScanStat{} // what is not where it was
	for _, c := range changes {
		if c.After != nil || before == nil {
			continue
		}
		if n := before.at(c.Path); n != nil {
			left[n.stat.Inode] = n.stat
		}
	}
	return func(path string) (int64, bool) {
		n := after.at(path)
		if n == nil || n.stat.Inode == 0 || left[n.stat.Inode] != n.stat {
			return after.Changed(path)
		}
		return after.Changed(newest(before, path))
	}
}

// newest returns the first folder on the way to a path that was not there before; the path itself if
// all were.
func newest(before *Index, path string) string {
	for i, c := range path {
		if c == '/' && before.at(path[:i]) == nil {
			return path[:i]
		}
	}
	return path
}

// at returns what a walk saw at a path; nil: nothing.
func (x *Index) at(path string) *seen {
	if x == nil || x.top == nil {
		return nil
	}
	at, parts := x.top, strings.Split(path, "/")
	for i, name := range parts {
		n := at.find(name)
		if n == nil || i == len(parts)-1 {
			return n
		}
		if at = n.sub; at == nil {
			return nil
		}
	}
	return nil
}
