package session

import (
	"io/fs"
	"os"
	"sync"

	"ramet/internal/core/config"
)

// settings follow the user's configuration. The file is read again only where it is another: who asks
// pays for a look at its name.
type settings struct {
	path string
	load func() (*config.Config, error)

	mu    sync.Mutex // guards what follows
	conf  *config.Config
	stamp fs.FileInfo // of the file that conf is of; nil: there was none
}

func (s *settings) now() (*config.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stamp, _ := os.Stat(s.path)
	if sameFile(stamp, s.stamp) {
		return s.conf, nil
	}
	conf, err := s.load()
	if err != nil {
		return nil, err
	}
	s.conf, s.stamp = conf, stamp
	return conf, nil
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
