package wire

import (
	"context"
	"iter"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
)

// Ask checks a request, encodes it, sends it and decodes the answer. encode
// gives the path and the value that is sent as JSON.
func (c *Client) Ask(ctx context.Context, r llm.Request, encode func(llm.Request) (string, any), decode func() Decoder) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		if err := r.Check(); err != nil {
			yield(llm.Fail(err))
			return
		}
		path, value := encode(r)
		body, err := Marshal(value)
		if err != nil {
			yield(llm.Fail(fault.New(fault.ProviderBadRequest, "encode request: %w", err)))
			return
		}
		c.Stream(ctx, llm.Bytes{Path: path, Body: body}, decode())(yield)
	}
}

// Marshal is json.Marshal without HTML escapes, which cost tokens in some
// vendors' logs and clarity in all of them.
func Marshal(v any) ([]byte, error) {
	return jsonv2.Marshal(v, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))
}

// Unmarshal is json.Unmarshal, in less time: an answer has thousands of events.
func Unmarshal(data []byte, v any) error { return jsonv2.Unmarshal(data, v, jsonv1.DefaultOptionsV1()) }
