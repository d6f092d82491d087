//go:build unix && !linux

package control

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUser returns the user ID of the process at the other end of a socket.
func peerUser(fd int) (uint32, error) {
	peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return peer.Uid, nil
}

// peerProcess returns 0: only Linux marks the commands of agents.
func peerProcess(net.Conn) int { return 0 }

func duplicate(from, to int) error { return unix.Dup2(from, to) }

// isFiltered reports false: only Linux marks the commands of agents.
func isFiltered(int) bool { return false }
