package credential

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/model/catalog"
)

// maxFile bounds what is read.
const maxFile = 1 << 20

// readFile reads the file: vendor to key.
func readFile(path string) (map[string]string, error) {
	text, err := durable.ReadPlain(path, maxFile, func(info fs.FileInfo) error {
		if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			return fault.New(fault.InvalidConfig, "%s can be read or written by others (mode %o)", path, info.Mode().Perm()).
				WithHint("chmod 600 %s, and think about whether the keys in it are still secret", path)
		}
		return nil
	})
	switch f, ours := fault.Of(err); {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]string{}, nil
	case ours:
		return nil, fault.New(f.Code, "read credentials: %s", f.Message).WithHint("%s", f.Hint)
	case err != nil:
		return nil, fault.New(fault.InvalidConfig, "read credentials: %w", err)
	}
	return parseFile(path, string(text))
}

// parseFile reads the keys in a text. Its errors never repeat the text.
func parseFile(path, text string) (map[string]string, error) {
	const form = `write one line for each vendor: anthropic = "…"`
	keys := map[string]string{}
	if _, err := toml.Decode(text, &keys); err != nil {
		where := path
		if p, ok := errors.AsType[toml.ParseError](err); ok {
			where = fmt.Sprintf("%s:%d", path, p.Position.Line)
		}
		return nil, fault.New(fault.InvalidConfig, "%s: not understood", where).WithHint(form)
	}
	for vendor, key := range keys {
		if v, err := catalog.Find(vendor); err != nil || v.KeyOwner() != vendor {
			return nil, fault.New(fault.InvalidConfig, "%s: a line is for no vendor that has keys", path).
				WithHint(form + "; [vendors.NAME] in your configuration makes a vendor")
		}
		if CheckKey(key) != nil {
			return nil, fault.New(fault.InvalidConfig, "%s: what stands for %s is not a key", path, vendor).
				WithHint("`ramet auth set %s` replaces it", vendor)
		}
	}
	return keys, nil
}

// Set stores a key. Concurrent calls follow each other; ctx bounds the wait.
func Set(ctx context.Context, home, vendor, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	return changeFile(ctx, home, func(keys map[string]string) error {
		keys[vendor] = key
		return nil
	})
}

// Remove deletes a key; NOT_FOUND where there is none.
func Remove(ctx context.Context, home, vendor string) error {
	return changeFile(ctx, home, func(keys map[string]string) error {
		if keys[vendor] == "" {
			return fault.New(fault.NotFound, "no key of %s is stored", vendor).
				WithHint("`ramet auth list` says which keys there are, and from where")
		}
		delete(keys, vendor)
		return nil
	})
}

func changeFile(ctx context.Context, home string, do func(map[string]string) error) error {
	path := Path(home)
	if _, statErr := os.Stat(home); statErr == nil || !errors.Is(statErr, fs.ErrNotExist) {
		// Nothing to change is found out before anything is made.
		keys, err := readFile(path)
		if err != nil {
			return err
		}
		if err := do(keys); err != nil {
			return err
		}
	} else if err := do(map[string]string{}); err != nil {
		return err
	}
	if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.While(ctx, path, func() error {
		keys, err := readFile(path)
		if err != nil {
			return err
		}
		if err := do(keys); err != nil {
			return err
		}
		var b strings.Builder
		for _, vendor := range slices.Sorted(maps.Keys(keys)) {
			// Keys are plain ASCII, for which Go and TOML quote alike.
			fmt.Fprintf(&b, "%s = %s\n", vendor, strconv.Quote(keys[vendor]))
		}
		return durable.WriteFile(path, []byte(b.String()), 0o600)
	})
}
