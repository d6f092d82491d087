package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Stamp is what a release is made from.
type Stamp struct {
	Commit   string
	Date     time.Time // the commit's: the only time that gets into a release
	Modified bool      // the checkout differs from the commit
}

// semver is what a version may be: SemVer without build metadata, which packages lose.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// describe fills in from git what the command line left out.
func (r *Release) describe(date string) (err error) {
	if date != "" {
		if r.Stamp.Date, err = time.Parse(time.RFC3339, date); err != nil {
			return fmt.Errorf("read -date: %w", err)
		}
	}
	if r.Stamp.Commit == "" || r.Stamp.Date.IsZero() {
		if err := r.Stamp.fromGit(r.Source); err != nil {
			return fmt.Errorf("%w; outside a checkout give -commit and -date", err)
		}
	}
	r.Stamp.Date = r.Stamp.Date.UTC()
	if r.Version == "" {
		r.Version = "0.1.0-dev"
		if tag, err := git(r.Source, "describe", "--tags", "--exact-match", "--match", "v*"); err == nil {
			r.Version = strings.TrimPrefix(tag, "v")
		}
	}
	if !semver.MatchString(r.Version) {
		return fmt.Errorf("%q is no version; it looks like 1.2.3 or 1.2.3-rc.1", r.Version)
	}
	return nil
}

func (s *Stamp) fromGit(source string) error {
	line, err := git(source, "log", "-1", "--format=%H %cI")
	if err != nil {
		return err
	}
	commit, date, _ := strings.Cut(line, " ")
	s.Commit = commit
	if s.Date, err = time.Parse(time.RFC3339, date); err != nil {
		return fmt.Errorf("read the commit's date: %w", err)
	}
	changes, err := git(source, "status", "--porcelain")
	s.Modified = changes != ""
	return err
}

func git(dir string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
