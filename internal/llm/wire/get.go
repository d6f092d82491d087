package wire

import (
	"context"
	"io"
	"net/http"

	"ramet/internal/fault"
	"ramet/internal/llm"
)

// maxList is how long an answer of Get may be.
const maxList = 8 << 20

// Get reads something that is no stream, such as a list of models. Failures are
// faults as those of Stream; the context limits its time.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+path, nil)
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "the base URL of %s is not usable: %s", c.Vendor, c.hide(bare(err).Error())).
			WithHint("correct it, or leave it out")
	}
	for name, values := range c.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ramet")
	transport := c.HTTP
	if transport == nil {
		transport = shared
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		why := &llm.Failure{Says: c.hide(bare(err).Error()), Again: true, Err: err}
		return nil, fault.New(fault.ProviderUnreachable, "ask %s at %s: %w", c.Vendor, c.place(), why).
			WithHint("check the network and the base URL")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if err := c.check(resp); err != nil {
			return nil, err
		}
		return nil, c.garbled("it answers with status %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if err != nil {
		return nil, c.fault(llm.Cut(bare(err)))
	}
	return text, nil
}
