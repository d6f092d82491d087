package trust

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
)

// record is <home>/trust.json: what a person accepted, by the real paths of folders. The
// bytes are beside it, in trust/ under their SHA-256.
type record struct {
	Version int                        `json:"version"` // 2
	Folders map[string]json.RawMessage `json:"folders"`
	Recipes []string                   `json:"recipes,omitempty"` // digests of those that may act outside of runs
}

// consent records what was accepted in one folder.
type consent struct {
	At     time.Time `json:"at"`
	Things []kept    `json:"things"`
	older  bool      // given to a version that kept no bytes
}

type kept struct {
	Kind   Kind   `json:"kind"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
}

func (k kept) name() name { return name{k.Kind, k.Path} }

func recordPath(home string) string { return filepath.Join(home, "trust.json") }

func bytesPath(home, sum string) string { return filepath.Join(home, "trust", sum) }

// mostRecord limits the size of the record.
const mostRecord = 8 << 20

// readRecord refuses a record that another person could have written.
func readRecord(home string) (record, error) {
	path := recordPath(home)
	empty := record{Version: 2, Folders: map[string]json.RawMessage{}}
	damaged := fault.New(fault.InvalidConfig, "read trust: %s is damaged or from a newer ramet", path).
		WithHint("move it away and trust your folders again")
	others := false
	text, err := durable.ReadPlain(path, mostRecord, func(info fs.FileInfo) error {
		if others = info.Mode().Perm()&0o022 != 0; others {
			return fault.New(fault.InvalidConfig, "read trust: others can write %s (mode %04o)", path, info.Mode().Perm()).
				WithHint("check it, then chmod 600 %s", path)
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return empty, nil
	case others:
		return record{}, err
	case fault.Is(err, fault.InvalidConfig):
		return record{}, damaged
	case err != nil:
		return record{}, durable.Failure("read trust", path, err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil || r.Version != 1 && r.Version != 2 {
		return record{}, damaged
	}
	if r.Folders == nil {
		r.Folders = empty.Folders
	}
	r.Version = 2
	return r, nil
}

// of returns what was accepted in a folder; ok is false if nothing ever was.
func (r record) of(real string) (c consent, ok bool) {
	raw, ok := r.Folders[real]
	if !ok {
		return c, false
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return consent{older: true}, true // a fingerprint of version 1
	}
	return c, true
}

// changeRecord changes the record under its lock.
func changeRecord(ctx context.Context, home string, do func(*record) error) error {
	if err := durable.MakeFolder(home, 0o700); err != nil {
		return err
	}
	path := recordPath(home)
	return durable.While(ctx, path, func() error {
		r, err := readRecord(home)
		if err != nil {
			return err
		}
		if err := do(&r); err != nil {
			return err
		}
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return fault.New(fault.Failed, "write trust: %w", err)
		}
		return durable.WriteFile(path, append(text, '\n'), 0o600)
	})
}

// keepBytes keeps the bytes of a thing, before the record names them.
func keepBytes(home string, t Thing) error {
	path := bytesPath(home, t.SHA256())
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, t.Data, 0o600)
}

// bytes returns the bytes that were kept; they must be what was accepted.
func (k kept) bytes(home string) ([]byte, error) {
	path := bytesPath(home, k.SHA256)
	data, err := os.ReadFile(path)
	if err == nil && (Thing{Data: data}).SHA256() == k.SHA256 {
		return data, nil
	}
	return nil, fault.New(fault.StorageCorrupt, "what you accepted of %s is not in %s any more", k.Path, path).
		WithHint("accept it again: ramet trust")
}

// realPath returns the one name of a folder: a link must not carry trust along.
func realPath(dir string) (string, error) {
	real, err := durable.RealFolder(dir)
	if err == nil && !utf8.ValidString(real) { // JSON would store another name
		err = fault.New(fault.InvalidConfig, "trust %q: the path is not UTF-8", real)
	}
	return real, err
}
