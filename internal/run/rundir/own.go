package rundir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// Own reports whether a run is this home's: every checkpoint in its folder is signed by the
// home's key and fits the log, there is one, the configuration is the one that the first
// event names, and the same holds for the runs that it continues. Else it is UNTRUSTED,
// with the reason: its folder may have come from anywhere.
func (r *Reader) Own(ctx context.Context) error {
	for up := r; up != nil; up = up.parent {
		if why, err := up.foreign(ctx); err != nil || why != "" {
			return errors.Join(err, untrustedRun(up.RunID, why))
		}
	}
	began, err := r.began(ctx)
	if err != nil {
		return err
	}
	sum, err := r.store.ConfigSum(r.RunID)
	if err == nil && sum != began {
		return untrustedRun(r.RunID, configFile+" is not the one that the run began with")
	}
	return err
}

func untrustedRun(runID, why string) error {
	if why == "" {
		return nil
	}
	return fault.New(fault.Untrusted, "run %s is not yours: %s", runID, why)
}

// foreign returns why the log of this run is not ours, or "".
func (r *Reader) foreign(ctx context.Context) (why string, err error) {
	notes, err := r.Checkpoints()
	switch f, known := fault.Of(err); {
	case known && f.Code == fault.EventChainBroken:
		return f.Message, nil
	case err != nil:
		return "", err
	case len(notes) == 0:
		return "it is not signed", nil
	}
	for _, n := range notes {
		if n.RunID != r.RunID {
			return "a checkpoint in its folder is that of run " + n.RunID, nil
		}
	}
	tree, err := r.newSignedTree(notes)
	if err != nil {
		return "", err
	}
	const changed = "its log is not what was signed"
	for e, err := range r.log.Events(ctx, 0) {
		if err != nil {
			return "", err
		}
		if tree.add(e) != nil {
			return changed, nil
		}
	}
	if tree.end(r.RunID) != nil {
		return changed, nil
	}
	return "", nil
}

// began returns the hash of the configuration that the first event names; of a fork, the first event of the run that
// it continues.
func (r *Reader) began(ctx context.Context) (string, error) {
	for r.parent != nil {
		r = r.parent
	}
	for e, err := range r.log.Events(ctx, 0) {
		if err != nil {
			return "", err
		}
		var p struct {
			Sum string `json:"config_sha256"`
		}
		err := json.Unmarshal(e.Payload, &p)
		return p.Sum, err
	}
	return "", nil
}

// ConfigSum returns the SHA-256 of the run's configuration as it is now.
func (s *Store) ConfigSum(runID string) (string, error) {
	files, err := s.OpenFiles(runID)
	if err != nil {
		return "", err
	}
	defer files.Close()
	sum, ok := files.Hash(configFile)
	if !ok {
		return "", fault.New(fault.NotFound, "run %s has no %s", runID, configFile)
	}
	return sum, nil
}

// Consent returns a digest of the run as it is now, which a person accepts before this home carries out a run that
// is not its own: lower-case hexadecimal of
//
//	SHA-256("ramet run consent 1\n" || run id || "\n" || SHA-256 of its configuration ||
//	"\n" || hash of its last event || "\n")
func (r *Reader) Consent(ctx context.Context) (string, error) {
	config, err := r.store.ConfigSum(r.RunID)
	if err != nil {
		return "", err
	}
	last, _, err := r.log.Last(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "ramet run consent 1\n%s\n%s\n%s\n", r.RunID, config, last.Hash))
	return hex.EncodeToString(sum[:]), err
}

// Adopt makes a run our own: the checkpoints of others are put aside, and the log is signed as it is. UNTRUSTED:
// the run no longer has the digest that was accepted, and nothing was changed.
func (x *Session) Adopt(ctx context.Context, consent string) error {
	now, err := x.Consent(ctx)
	if err != nil {
		return err
	}
	if now != consent {
		return fault.New(fault.Untrusted, "run %s has changed since you were asked", x.RunID).WithHint("nothing was done; look again")
	}
	path := x.file(checkpointFile)
	if err := step.Rename(path, path+".foreign"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("rename", path, err)
	}
	x.ours = true
	return x.Settle()
}
