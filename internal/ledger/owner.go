package ledger

import (
	"fmt"
	"os"
	"strconv"

	"ramet/internal/base/fault"
)

// Judge returns a function that finds spawned entries that are gone: their owner, a process of this machine, is dead,
// or their time is over. For an owner on another machine only the time counts.
func (f *Folder) Judge() Judge {
	now, host := f.now(), hostname()
	return func(e Entry) (string, bool) {
		if e.Owner != nil && e.Owner.Host == host && ownerDead(e.Owner.PID, e.Owner.Start) {
			return fmt.Sprintf("its owner, process %d, has ended", e.Owner.PID), true
		}
		if e.Overdue(now) {
			return "it is past its " + strconv.FormatFloat(e.Minutes, 'f', -1, 64) + " minutes", true
		}
		return "", false
	}
}

// FindOwner returns a process of this machine as an owner. NOT_FOUND if there is no such process.
func FindOwner(pid int) (*Owner, error) {
	start, ok := began(pid)
	if pid <= 0 || !ok {
		return nil, fault.New(fault.NotFound, "there is no process %d", pid).WithHint("give the id of a running process")
	}
	return &Owner{Host: hostname(), PID: pid, Start: start}, nil
}

// SelfOwner returns this process as an owner.
func SelfOwner() *Owner {
	start, _ := began(os.Getpid())
	return &Owner{Host: hostname(), PID: os.Getpid(), Start: start}
}

func hostname() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "localhost"
	}
	return host
}

// ownerDead reports whether a process is known to have ended: there is none with that id, or one
// that began at another time.
func ownerDead(pid int, start string) bool {
	if start != "" && !sameNumbers(start) {
		return false
	}
	now, there := began(pid)
	return !there || start != "" && now != "" && start != now
}
