package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// AnswerFolder keeps answers in a folder, one file (0600) for each key. Hosts of one machine
// may share it. A file begins with the hash of the rest: what a crash or anybody else
// damaged is not there.
type AnswerFolder struct{ Dir string }

var _ AnswerCache = AnswerFolder{}

var keyForm = text.Regexp(`^[0-9a-f]{64}$`)

const sumLine = 2*sha256.Size + 1

func (c AnswerFolder) path(key string) (string, error) {
	if !keyForm().MatchString(key) {
		return "", fault.New(fault.InvalidID, "%.80q is not a key of an answer", key)
	}
	return filepath.Join(c.Dir, key+".json"), nil
}

// Get implements tape.Cache.
func (c AnswerFolder) Get(key string) ([]byte, bool, error) {
	path, err := c.path(key)
	if err != nil {
		return nil, false, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, durable.Failure("read answer", path, err)
	}
	if len(data) < sumLine || string(data[:sumLine]) != sumOf(data[sumLine:]) {
		return nil, false, nil
	}
	return data[sumLine:], true, nil
}

// Put implements tape.Cache.
func (c AnswerFolder) Put(key string, data []byte) error {
	path, err := c.path(key)
	if err != nil {
		return err
	}
	if err := durable.MakeFolder(c.Dir, 0o700); err != nil {
		return err
	}
	return durable.PutFile(path, append([]byte(sumOf(data)), data...), 0o600)
}

// Drop implements tape.Cache.
func (c AnswerFolder) Drop(key string) error {
	path, err := c.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("drop answer", path, err)
	}
	return nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) + "\n"
}
