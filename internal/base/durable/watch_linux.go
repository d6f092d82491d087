package durable

import (
	"context"
	"os"

	"golang.org/x/sys/unix"
)

const changes = unix.IN_MODIFY | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_ATTRIB

// WatchFolder begins to watch a folder, until ctx ends. false: changes are not reported.
func WatchFolder(ctx context.Context, dir string) (<-chan struct{}, bool) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, false
	}
	events := os.NewFile(uintptr(fd), "inotify") // the runtime waits for it, no thread does
	if _, err := unix.InotifyAddWatch(fd, dir, changes|unix.IN_ONLYDIR); err != nil {
		events.Close()
		return nil, false
	}
	told := make(chan struct{}, 1)
	context.AfterFunc(ctx, func() { events.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			if _, err := events.Read(buf); err != nil {
				return
			}
			select {
			case told <- struct{}{}:
			default: // it is told already
			}
		}
	}()
	return told, true
}
