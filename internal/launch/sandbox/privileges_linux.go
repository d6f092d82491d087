package sandbox

import (
	"golang.org/x/sys/unix"
)

// needed are the capabilities with which the helper of an ordinary user works, inside
// its own user namespace.
var needed = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}

// kept are the capabilities that a confined root has still: it owns files, and that
// is all. CAP_DAC_READ_SEARCH is not among them, since it opens files by handle,
// past every mount. Nor is CAP_FSETID: a setuid program that is overwritten must lose the bit.
const kept = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_KILL | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID

// dropAmbient keeps the helper's own capabilities from the command.
func dropAmbient() error {
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// dropAll gives up, for this thread and what it starts, every privilege and the
// means to regain one.
func dropAll() error {
	// The command lives in this thread's Landlock domain and with its capabilities, so
	// it could trace it, and through it the other threads, which have given up
	// nothing. Nobody traces a process that cannot be dumped.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if err := dropAmbient(); err != nil {
		return err
	}
	for c := range uintptr(64) {
		if kept&(1<<c) != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EINVAL {
			break // there are no more
		} else if err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0] = unix.CapUserData{Effective: data[0].Effective & kept, Permitted: data[0].Permitted & kept}
	data[1] = unix.CapUserData{}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
