//go:build !unix

package file

import "io/fs"

// alone says whether a file is a plain one with one name, which nobody knows here.
func alone(fs.FileInfo) bool { return false }
