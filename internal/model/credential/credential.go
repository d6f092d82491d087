// Package credential finds the keys of vendors: in the environment
// (<VENDOR>_API_KEY), else in <home>/credentials.toml, one line a vendor:
//
//	anthropic = "sk-…"
//
// It promises:
//
//   - The file is written with mode 0600, and not read when others could read it.
//   - A Key prints as [redacted], however it is printed; only Reveal gives it.
//     No fault holds one, not even that of a file that is no TOML.
//   - Values gives every key, for a redactor, and Variables the names that no
//     tool may find in its environment.
//   - Set and Remove change one line; after a crash the file is the old one or
//     the new one.
package credential

import (
	"cmp"
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
	"sync"

	"github.com/BurntSushi/toml"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/model/catalog"
)

// Key is a key. It cannot be printed by accident.
type Key struct{ value string }

const hidden = "[redacted]"

// Reveal returns the key itself.
func (k Key) Reveal() string { return k.value }

// IsZero reports whether there is none.
func (k Key) IsZero() bool { return k.value == "" }

// String hides the key.
func (k Key) String() string { return hidden }

// GoString hides the key.
func (k Key) GoString() string { return hidden }

// MarshalText hides the key.
func (k Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Access holds a vendor's address and credentials.
type Access struct {
	Key      Key
	KeyFrom  string // a variable, or the file; empty without a key
	Base     string // base URL; empty for the vendor's own
	BaseFrom string // a variable
	AWS      AWS    // of vendors at Amazon; zero elsewhere
	Google   Google // of vendors in Google's cloud
	// TokenCommand prints a token that takes the place of a key; empty: none does.
	TokenCommand string
}

// Google configures tokens for Google's cloud.
type Google struct {
	File, Metadata    string // of an account; host of the metadata server. Empty: the usual
	Project, Location string
}

// Reach returns the vendor as it is reached.
func (a Access) Reach(v catalog.Vendor) catalog.Vendor {
	if v.Google {
		v.Project, v.Location = a.Google.Project, a.Google.Location
	}
	return v
}

// AWS signs requests to Amazon where there is no key.
type AWS struct {
	ID, Region      string
	Secret, Session Key
}

// The variables of AWS, as Amazon names them.
const (
	awsID, awsSecret, awsSession = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
	awsRegion                    = "AWS_REGION"
)

// The variables of Google's cloud, as Google names them.
const (
	googleFile, googleMetadata    = "GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST"
	googleProject, googleLocation = "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"
)

// google returns what is known of Google's cloud: from the configuration, else from the
// environment, else from the file that Google's own tools write.
func (s *Store) google(v catalog.Vendor) Google {
	out := Google{File: s.env(googleFile), Metadata: s.env(googleMetadata), Project: v.Project, Location: v.Location}
	out.Project = cmp.Or(out.Project, s.env(googleProject))
	out.Location = cmp.Or(out.Location, s.env(googleLocation))
	if out.File == "" && s.env("HOME") != "" {
		usual := filepath.Join(s.env("HOME"), ".config", "gcloud", "application_default_credentials.json")
		if _, err := os.Stat(usual); err == nil {
			out.File = usual
		}
	}
	return out
}

// Store is the keys as they were when it was opened.
type Store struct {
	env  func(string) string
	path string

	mu   sync.Mutex
	file map[string]string // vendor to key; guarded by mu
}

// Reload reads the stored keys again, after one was changed.
func (s *Store) Reload() error {
	file, err := readFile(s.path)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.file = file
	s.mu.Unlock()
	return nil
}

func (s *Store) stored(vendor string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file[vendor]
}

// Path returns the file of a home folder.
func Path(home string) string { return filepath.Join(home, "credentials.toml") }

// Open reads the keys; a file that is not there has none.
func Open(env func(string) string, home string) (*Store, error) {
	s := &Store{env: env, path: Path(home)}
	var err error
	s.file, err = readFile(s.path)
	return s, err
}

// With returns the stored keys with the variables of another environment.
func (s *Store) With(env func(string) string) *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{env: env, path: s.path, file: s.file} // a map that is never changed, only replaced
}

// Variables returns the names of all variables that say how vendors are reached.
func Variables() []string {
	out := []string{awsID, awsSecret, awsSession, awsRegion, googleFile, googleMetadata, googleProject, googleLocation}
	for _, v := range catalog.Vendors() {
		if !v.BuiltIn {
			out = append(out, v.KeyVariable(), v.BaseVariable())
		}
	}
	return out
}

// Access returns how a vendor is reached.
func (s *Store) Access(v catalog.Vendor) Access {
	var a Access
	if v.BuiltIn {
		return a
	}
	if value := strings.TrimSpace(s.env(v.KeyVariable())); value != "" {
		a.Key, a.KeyFrom = Key{value}, v.KeyVariable()
	} else if value := s.stored(v.KeyOwner()); value != "" {
		a.Key, a.KeyFrom = Key{value}, s.path
	}
	if base := strings.TrimSpace(s.env(v.BaseVariable())); base != "" {
		a.Base, a.BaseFrom = base, v.BaseVariable()
	} else if v.Moved {
		a.Base, a.BaseFrom = v.Base, "your configuration"
	}
	a.TokenCommand = v.TokenCommand
	if v.Google {
		a.Google = s.google(v)
	}
	if v.Framed {
		a.AWS = AWS{ID: s.env(awsID), Region: s.env(awsRegion), Secret: Key{s.env(awsSecret)}, Session: Key{s.env(awsSession)}}
	}
	return a
}

// Usable reports whether a vendor can be asked, and why not. With a base URL of its
// own a key is not demanded: proxies and local servers need none.
func (s *Store) Usable(v catalog.Vendor) (ok bool, why string) {
	a := s.Access(v)
	switch {
	case v.BuiltIn:
		return true, ""
	case v.Google && a.Google.Project == "":
		return false, "no project: set " + googleProject + ", or project in [vendors." + v.Name + "] of your configuration"
	case !a.Key.IsZero() || a.Base != "" || v.Free || v.Google || a.TokenCommand != "":
		return true, ""
	case v.Local:
		return false, "not configured: set " + v.BaseVariable() + " (its usual address is " + v.Base + ")"
	}
	return false, "no key: set " + v.KeyVariable() + " or `ramet auth set " + v.KeyOwner() + "`"
}

// Stored reports whether the file has a key of this vendor.
func (s *Store) Stored(vendor string) bool { return s.stored(vendor) != "" }

// Values returns every key by its name, for a redactor.
func (s *Store) Values() map[string]string {
	out := map[string]string{}
	for _, name := range []string{awsSecret, awsSession} {
		if value := s.env(name); value != "" {
			out[name] = value
		}
	}
	for _, v := range catalog.Vendors() {
		if v.BuiltIn {
			continue
		}
		name := v.KeyVariable()
		if value := strings.TrimSpace(s.env(name)); value != "" {
			out[name] = value
		}
		if value := s.stored(v.KeyOwner()); value != "" && value != out[name] {
			if out[name] != "" {
				name += ".file"
			}
			out[name] = value
		}
	}
	return out
}

// maxKey is longer than any key.
const maxKey = 4096

// CheckKey refuses what cannot be a key: it would not fit into a header.
func CheckKey(key string) error {
	bad := strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
	switch {
	case key == "":
		return fault.New(fault.InvalidText, "the key is empty").WithHint("give it on standard input")
	case len(key) > maxKey:
		return fault.New(fault.InvalidText, "the key has more than %d bytes", maxKey)
	case bad:
		return fault.New(fault.InvalidText, "the key contains spaces, line breaks or other characters that no key has").
			WithHint("give the key alone, on one line")
	}
	return nil
}

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
