//go:build !unix

package past

// alive: nobody knows here, so that changes are foreign.
func alive(int) bool { return true }
