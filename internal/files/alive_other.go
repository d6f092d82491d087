//go:build !unix

package files

// alive: nobody knows here, so that changes are foreign.
func alive(int) bool { return true }
