//go:build !unix

package sqlite

import "os"

// writable reports whether the system lets us write a file: it is opened, and nothing is written.
func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return err == nil
}
