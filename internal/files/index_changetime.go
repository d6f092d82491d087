package files

// ChangeTime tells of paths that changed between two walks when that was, in nanoseconds: of a file its
// ctime, of what is not there that of the nearest folder above. What only came with a folder that
// was moved kept its ctime: it changed when that folder did. false: unknown.
func ChangeTime(before, after *Index, changes []Change) func(path string) (int64, bool) {
	left := map[uint64]ScanStat{} // what is not where it was
	for _, c := range changes {
		if c.After != nil || before == nil {
			continue
		}
		if n, _, _ := before.find(c.Path); n != nil {
			left[n.stat.Inode] = n.stat
		}
	}
	return func(path string) (int64, bool) {
		n, changed, _ := after.find(path)
		if n != nil && n.stat.Inode != 0 && left[n.stat.Inode] == n.stat {
			_, changed, _ = after.find(newest(before, path))
		}
		return changed, changed != 0
	}
}

// newest returns the first folder on the way to a path that was not there before; the path itself if
// all were.
func newest(before *Index, path string) string {
	for i, c := range path {
		if c != '/' {
			continue
		}
		if n, _, _ := before.find(path[:i]); n == nil {
			return path[:i]
		}
	}
	return path
}
