//go:build !unix

package restore

const nonblock = 0
