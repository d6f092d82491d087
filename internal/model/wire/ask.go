package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

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
		body, err := bodyOf(r, value)
		if err != nil {
			yield(llm.Fail(fault.New(fault.ProviderBadRequest, "encode request: %w", err)))
			return
		}
		c.Stream(ctx, llm.Bytes{Path: path, Body: body}, decode())(yield)
	}
}

// Appender is a body that writes itself. Long conversations are sent with every
// step, and the library takes many times as long for them.
type Appender interface {
	// AppendJSON appends the body.
	AppendJSON([]byte) ([]byte, error)
}

func bodyOf(r llm.Request, value any) ([]byte, error) {
	a, ok := value.(Appender)
	if !ok {
		return Marshal(value)
	}
	size := 16 << 10 // and what tools say of themselves, about
	for _, m := range r.Messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			size += 128 + len(p.Text) + len(p.Text)/32 + len(p.Args) + len(p.Signature) + len(p.Opaque) + len(p.Data)*4/3
		}
	}
	return a.AppendJSON(make([]byte, 0, size))
}

// AppendText appends a string as JSON, without HTML escapes.
func AppendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // what is no UTF-8 is replaced
	return b
}

// AppendMember appends a comma, a name and a text, if there is one.
func AppendMember(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return AppendText(b, value)
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
