package control

import (
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peerUser returns the user ID of the process at the other end of a socket.
func peerUser(fd int) (uint32, error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return peer.Uid, nil
}

// peerProcess returns the ID of the process at the other end of a socket; 0 if unknown.
func peerProcess(conn net.Conn) (pid int) {
	if unixConn, ok := conn.(*net.UnixConn); ok {
		if raw, err := unixConn.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) {
				if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
					pid = int(peer.Pid)
				}
			})
		}
	}
	return pid
}

func duplicate(from, to int) error { return unix.Dup3(from, to, 0) }

// isFiltered reports whether the process at the other end of a socket runs under more filters of system calls than
// this one. Commands of agents do: their mark is such a filter (package sandbox), and nothing can take it off.
func isFiltered(fd int) bool {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return true
	}
	own, known := countFilters("self")
	theirs, ok := countFilters(strconv.Itoa(int(peer.Pid)))
	return known && (!ok || theirs > own)
}

// countFilters counts the filters of system calls of a process; false: it is gone, or this system does not tell.
func countFilters(process string) (int, bool) {
	status, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "Seccomp_filters:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			return n, err == nil
		}
	}
	return 0, false
}
