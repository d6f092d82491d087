package wire

import (
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
	resp, err := c.roundTrip(ctx, method, path, "application/json", body)
	if err != nil {
		if _, ours := fault.Of(err); !ours {
			err = c.unreachable(err, true)
		}
		return nil, err
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
