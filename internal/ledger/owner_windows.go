package ledger

import (
	"strconv"
	"syscall"
)

// began returns the creation time of a process.
func began(pid int) (start string, there bool) {
	const mayAsk, stillActive = 0x1000, 259 // PROCESS_QUERY_LIMITED_INFORMATION, STILL_ACTIVE
	h, err := syscall.OpenProcess(mayAsk, false, uint32(pid))
	if err != nil {
		return "", err == syscall.ERROR_ACCESS_DENIED
	}
	defer syscall.CloseHandle(h)
	var code uint32
	if syscall.GetExitCodeProcess(h, &code) == nil && code != stillActive {
		return "", false
	}
	var created, exited, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(h, &created, &exited, &kernel, &user) != nil {
		return "", true
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), true
}

func sameNumbers(string) bool { return true }
