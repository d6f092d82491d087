//go:build !unix

package files

// alive returns true: this system does not tell, so that changes count as foreign.
func alive(int) bool { return true }
