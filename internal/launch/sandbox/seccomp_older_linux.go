//go:build amd64 || ppc64le

package sandbox

import "golang.org/x/sys/unix"

var olderModeCalls = []modeCalls{
	{numbers: []uint32{unix.SYS_CHMOD, unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_MKNOD}, mode: offsetSecond},
	{numbers: []uint32{unix.SYS_OPEN}, flags: offsetSecond, mode: offsetThird},
}
