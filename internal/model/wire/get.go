package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// maxList limits the length of an answer of Get.
const maxList = 8 << 20

// Get reads something that is no stream, such as a list of models. Failures are
// faults as those of Stream; the context limits its time.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.fetch(ctx, http.MethodGet, path, nil)
}

// Post is Get for what is asked for with a body of JSON.
func (c *Client) Post(ctx context.Context, path string, body []byte) ([]byte, error) {
	return c.fetch(ctx, http.MethodPost, path, body)
}

func (c *Client) fetch(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.InvalidConfig, "the base URL of %s is not usable: %s", c.Vendor, c.hide(withoutURL(err).Error())).
			WithHint("correct it, or leave it out")
	}
	for name, values := range c.Header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "ramet")
	resp, err := transportOf(c.HTTP).RoundTrip(req)
	if err != nil {
		why := &llm.Failure{Says: c.hide(withoutURL(err).Error()), Again: true, Err: err}
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
		return nil, c.fault(llm.Cut(withoutURL(err)))
	}
	return text, nil
}
