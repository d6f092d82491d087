package config

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"ramet/internal/durable"
	"ramet/internal/fault"
)

// Trust is the content of <home>/trust.json: the folders the user trusts.
type Trust struct {
	Version int               `json:"version"` // 1
	Folders map[string]string `json:"folders"` // real path to Fingerprint
}

// Trusted says whether the user trusts the project folder dir as it is now.
// files are the paths, relative to dir, of everything in it that acts
// (configuration, hooks, instructions). Changing, adding or removing one of
// them ends the trust, and so does moving the folder.
func Trusted(home, dir string, files []string) (bool, error) {
	t, err := readTrust(home)
	if err != nil {
		return false, err
	}
	real, err := realPath(dir)
	if err != nil {
		return false, err
	}
	given, ok := t.Folders[real]
	if !ok {
		return false, nil
	}
	now, err := Fingerprint(real, files)
	return err == nil && now == given, err
}

// SetTrusted trusts the folder with the files as they are now.
func SetTrusted(ctx context.Context, home, dir string, files []string) error {
	real, err := realPath(dir)
	if err != nil {
		return err
	}
	if !utf8.ValidString(real) { // JSON would store another name
		return fault.New(fault.InvalidConfig, "trust %q: the path is not UTF-8", real)
	}
	sum, err := Fingerprint(real, files)
	if err != nil {
		return err
	}
	return changeTrust(ctx, home, func(t *Trust) { t.Folders[real] = sum })
}

// Revoke ends the trust; a folder that is not trusted, or gone, is no error.
func Revoke(ctx context.Context, home, dir string) error {
	real, err := realPath(dir)
	if fault.Is(err, fault.NotFound) {
		real, err = absolute(dir)
	}
	if err != nil {
		return err
	}
	return changeTrust(ctx, home, func(t *Trust) { delete(t.Folders, real) })
}

// realPath is the one name of a folder: a link must not carry trust along.
func realPath(dir string) (string, error) {
	abs, err := absolute(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fault.New(fault.NotFound, "no folder %s: %w", dir, err)
	}
	if err != nil {
		return "", fault.New(fault.StorageIO, "find folder: %w", err)
	}
	return real, nil
}

func trustPath(home string) string { return filepath.Join(home, "trust.json") }

// readTrust refuses a store that somebody else could have written.
func readTrust(home string) (Trust, error) {
	path := trustPath(home)
	empty := Trust{Version: 1, Folders: map[string]string{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return Trust{}, fault.New(fault.StorageIO, "read trust: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return Trust{}, fault.New(fault.InvalidConfig, "read trust: others can write %s (mode %04o)", path, info.Mode().Perm()).
			WithHint("check it, then chmod 600 %s", path)
	}
	text, err := readText(path)
	if err != nil {
		return Trust{}, err
	}
	var t Trust
	if err := json.Unmarshal([]byte(text), &t); err != nil || t.Version != 1 {
		return Trust{}, fault.New(fault.InvalidConfig, "read trust: %s is damaged or from a newer ramet", path).
			WithHint("move it away and trust your folders again")
	}
	if t.Folders == nil {
		t.Folders = empty.Folders
	}
	return t, nil
}

func changeTrust(ctx context.Context, home string, change func(*Trust)) error {
	if err := durable.MakeFolder(home, 0o700); err != nil {
		return err
	}
	path := trustPath(home)
	return durable.While(ctx, path, func() error {
		t, err := readTrust(home)
		if err != nil {
			return err
		}
		change(&t)
		text, err := json.MarshalIndent(t, "", "  ")
		if err != nil {
			return fault.New(fault.Failed, "write trust: %w", err)
		}
		return durable.WriteFile(path, append(text, '\n'), 0o600)
	})
}
