package control

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"ramet/internal/base/durable"
	"ramet/internal/base/step"
)

const (
	maxLogSize  = 10 << 20
	maxLogFiles = 3
)

// Log is the log file of the kernel: private to the user, rotated at 10 MB, with three files kept. It is
// safe for concurrent use.
type Log struct {
	path     string
	maxSize  int64
	redirect func(*os.File) // sends the output of the process to a file

	mu   sync.Mutex
	file *step.File
}

// OpenLog opens the log for the kernel that holds the place. From now on the output of the process goes
// there too, panics included.
func (p Place) OpenLog() (*Log, error) {
	l := &Log{path: p.Log(), maxSize: maxLogSize, redirect: redirectOutput}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Log) open() error {
	file, err := openLogFile(l.path)
	if err != nil {
		return err
	}
	l.redirect(file.File)
	if l.file != nil {
		l.file.Close()
	}
	l.file = file
	return nil
}

// openLogFile opens a log for appending. It creates the file, readable only by the user, and its folder.
func openLogFile(path string) (*step.File, error) {
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := step.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		err = file.Chmod(0o600) // it may be older than we are
	}
	return file, durable.Failure("open log", path, err)
}

// Write appends to the log. It rotates first if b does not fit.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The size is not counted here, because the process's output goes to the same file.
	if info, err := l.file.Stat(); err == nil && info.Size() > 0 && info.Size()+int64(len(b)) > l.maxSize {
		l.rotate() // a log that cannot be rotated grows
	}
	return l.file.Write(b)
}

// rotate renames server.log to server.log.1, that to server.log.2, and opens a new one.
func (l *Log) rotate() error {
	for i := maxLogFiles - 1; i > 0; i-- {
		from := l.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", l.path, i-1)
		}
		if err := step.Rename(from, fmt.Sprintf("%s.%d", l.path, i)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return l.open()
}

// What the kernel logs first and last.
const (
	LogStarted = "started, version "
	LogEnds    = "ends: "
)

// LastEnd returns the line of the log that says why the kernel ended last, or how it died; empty if it never ended.
func (p Place) LastEnd() string {
	end, last, runs := "", "", false
	for line := range strings.Lines(p.readLog(nil)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.Contains(line, " "+LogStarted):
			if runs {
				end = "it died; before that: " + last
			}
			runs = true
		case strings.Contains(line, " "+LogEnds):
			end, runs = line, false
		}
		last = line
	}
	if runs && !p.Alive() {
		end = "it died; before that: " + last
	}
	return end
}

// Close closes the log. The output of the process still goes to its file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
