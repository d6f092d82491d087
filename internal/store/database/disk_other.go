//go:build !unix

package database

// noSpace is not known here: SQLite's own word stands.
func noSpace(string) bool { return false }
