package wire

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"iter"

	"ramet/internal/chain"
	"ramet/internal/fault"
	"ramet/internal/llm"
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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// drawn begins the ids of calls that the vendor gave none.
const drawn = "drawn_"

// NewCallID draws an id for a call that came without one.
func NewCallID() string {
	b := make([]byte, 12)
	rand.Read(b)
	return drawn + hex.EncodeToString(b)
}

// IsDrawn says whether an id is NewCallID's.
func IsDrawn(id string) bool { return len(id) > len(drawn) && id[:len(drawn)] == drawn }

// CallID is an id that every vendor accepts: of letters, digits, "_" and "-",
// and not too long. The same id always becomes the same.
func CallID(id string) string {
	ok := id != "" && len(id) <= 40
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
	}
	if ok {
		return id
	}
	return "call_" + chain.Sum([]byte(id)).String()[:24]
}
