package mailbox

import (
	"context"
	"encoding/json"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
)

// The verbs of an orchestrator, as they travel.
const (
	verbClaim   = "claim"
	verbFetch   = "fetch"
	verbReport  = "report"
	verbDeliver = "deliver"
)

// What they carry. Contents are stored apart, by their hashes.
type (
	claim   struct{ Host string }
	fetch   struct{ SHA256 string }
	content struct{ Path, SHA256 string }
	report  struct {
		Report   runner.Report
		Evidence *content `json:",omitempty"`
	}
	delivery struct {
		Result  runner.Result
		Files   []content
		Failure *runner.Failure `json:",omitempty"`
	}
)

// Claim asks for an item.
func (c *Client) Claim(ctx context.Context, itemID, host string) (runner.Attempt, error) {
	var it runner.Attempt
	said, err := c.ask(ctx, itemID, verbClaim, claim{host})
	if err != nil {
		return it, err
	}
	return it, decodeMessage(said, &it)
}

// Fetch gets the content of an input. One that was fetched before is read without asking the orchestrator; an attempt
// that was overtaken is refused when it reports.
func (c *Client) Fetch(ctx context.Context, itemID, sum string) ([]byte, error) {
	runID, err := runOf(itemID)
	if err != nil {
		return nil, err
	}
	data, found, err := c.read(ctx, runID, sum)
	if err != nil || found {
		return data, err
	}
	if _, err := c.ask(ctx, itemID, verbFetch, fetch{sum}); err != nil {
		return nil, err
	}
	data, found, err = c.read(ctx, runID, sum)
	if err == nil && !found {
		err = runOver(runID) // cleared in between
	}
	return data, err
}

func (c *Client) read(ctx context.Context, runID, sum string) (data []byte, found bool, err error) {
	err = c.persist(ctx, func(ctx context.Context) (err error) {
		data, found, err = c.blob(ctx, runID, sum)
		return err
	})
	return data, found, err
}

// Report reports a model call.
func (c *Client) Report(ctx context.Context, itemID string, r runner.Report) error {
	out, contents := report{Report: r}, []blob(nil)
	if e := r.Evidence; e != nil {
		b, err := newBlob(e.Data)
		if err != nil {
			return err
		}
		out.Report.Evidence, out.Evidence, contents = nil, &content{e.Path, b.sha256}, []blob{b}
	}
	_, err := c.ask(ctx, itemID, verbReport, out, contents...)
	return err
}

// Deliver hands over what an item gave back.
func (c *Client) Deliver(ctx context.Context, itemID string, r runner.Result, failure *runner.Failure) error {
	out, contents := delivery{Result: r, Failure: failure}, []blob(nil)
	out.Result.Files = nil
	for _, f := range r.Files {
		b, err := newBlob(f.Data)
		if err != nil {
			return err
		}
		out.Files, contents = append(out.Files, content{f.Path, b.sha256}), append(contents, b)
	}
	_, err := c.ask(ctx, itemID, verbDeliver, out, contents...)
	return err
}

func encodeMessage(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fault.New(fault.Failed, "write a message: %w", err)
	}
	return body, nil
}

// decodeMessage reads what another version of ramet may have written.
func decodeMessage(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fault.New(fault.InvalidText, "a message is not readable: %w", err).WithHint("run the same version of ramet on all hosts")
	}
	return nil
}
