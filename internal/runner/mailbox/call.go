package mailbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
)

// call reads a request and has the orchestrator carry it out.
func (s *server) call(ctx context.Context, r request) ([]byte, error) {
	// The id of another run would be the business of another log.
	if of, err := runOf(r.item); err != nil || of != s.runID {
		return nil, fault.New(fault.InvalidID, "%.100q is no item of run %s", r.item, s.runID)
	}
	done := []byte{}
	switch r.verb {
	case verbClaim:
		var in claim
		if err := decodeMessage(r.body, &in); err != nil {
			return nil, err
		}
		it, err := s.orchestrator.Claim(ctx, r.item, in.Host)
		if err != nil {
			return nil, err
		}
		return encodeMessage(it)
	case verbFetch:
		var in fetch
		if err := decodeMessage(r.body, &in); err != nil {
			return nil, err
		}
		return done, s.fetch(ctx, r.item, in.SHA256)
	case verbReport:
		var in report
		if err := decodeMessage(r.body, &in); err != nil {
			return nil, err
		}
		if in.Evidence != nil {
			files, err := s.contents(ctx, []content{*in.Evidence})
			if err != nil {
				return nil, err
			}
			in.Report.Evidence = &files[0]
		}
		return done, s.orchestrator.Report(ctx, r.item, in.Report)
	case verbDeliver:
		var in delivery
		if err := decodeMessage(r.body, &in); err != nil {
			return nil, err
		}
		files, err := s.contents(ctx, in.Files)
		if err != nil {
			return nil, err
		}
		in.Result.Files = files
		return done, s.orchestrator.Deliver(ctx, r.item, in.Result, in.Failure)
	}
	return nil, fault.New(fault.Usage, "unknown request %.40q", r.verb).WithHint("run the same version of ramet on all hosts")
}

// fetch puts the content of an input where workers find it.
func (s *server) fetch(ctx context.Context, item, sum string) error {
	data, err := s.orchestrator.Fetch(ctx, item, sum)
	if err != nil {
		return err
	}
	b, err := newBlob(data)
	if err != nil {
		return err
	}
	if b.sha256 != sum {
		return fault.New(fault.StorageCorrupt, "the input %s of %s was changed", sum, item)
	}
	return s.persist(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if orchestrator, err := hasOrchestrator(ctx, tx, s.runID); err != nil || !orchestrator {
				return err
			}
			return putBlobs(ctx, tx, s.runID, []blob{b})
		})
	})
}

// contents reads what came with a request.
func (s *server) contents(ctx context.Context, wanted []content) ([]runner.Blob, error) {
	var out []runner.Blob
	for _, w := range wanted {
		data, found, err := s.read(ctx, s.runID, w.SHA256)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fault.New(fault.NotFound, "the content of %.200q did not come with its request", w.Path)
		}
		out = append(out, runner.Blob{Path: w.Path, Data: data})
	}
	return out, nil
}
