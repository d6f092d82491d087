//go:build !amd64 && !ppc64le

package sandbox

// olderModeCalls is empty: this architecture has only the calls that take a folder.
var olderModeCalls []modeCalls
