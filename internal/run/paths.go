package run

import (
	"path"
	"slices"
	"strings"

	fast "github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
)

// IsPath reports whether a path names something below the folder of a run: relative, with
// slashes, without a step upwards and without NUL. It does not look at the disk: the path is opened below the
// folder, so that no link leads out of it.
func IsPath(p string) bool {
	return p != "" && path.Clean(p) != "." && !strings.HasPrefix(p, "/") && !strings.ContainsRune(p, 0) &&
		!slices.Contains(strings.Split(p, "/"), "..")
}

// CheckPaths refuses the payload of an event that names a file outside of its run. Only writers use it: a log that
// has such an event is read as it is.
func CheckPaths(t Type, payload []byte) error {
	var p struct {
		Path    string `json:"path"`
		Inputs  []File `json:"inputs"`
		Outputs []File `json:"outputs"`
		Bundle  string `json:"bundle"`
	}
	switch t {
	case ArtifactWritten, WorkItemQueued, WorkItemFinished, PullRequestOpened:
	default:
		return nil
	}
	if err := fast.Unmarshal(payload, &p); err != nil {
		return invalidPayload(t, "%v", err)
	}
	var all []string
	for _, one := range []string{p.Path, p.Bundle} {
		if one != "" {
			all = append(all, one)
		}
	}
	for _, f := range slices.Concat(p.Inputs, p.Outputs) {
		all = append(all, f.Path)
	}
	for _, one := range all {
		if !IsPath(one) {
			return fault.New(fault.InvalidEvent, "payload of %s: %.120q is not a path below the run's folder", t, one).
				WithHint("give it relative to that folder, with slashes and without ..")
		}
	}
	return nil
}
