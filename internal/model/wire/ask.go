package wire

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/jsonschema"
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

// Marshal encodes a value as json.Marshal does, but without HTML escapes, which cost
// tokens in some vendors' logs and clarity in all of them.
func Marshal(v any) ([]byte, error) {
	return jsonv2.Marshal(v, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))
}

// Unmarshal decodes JSON as json.Unmarshal does, in less time: an answer has thousands of events.
func Unmarshal(data []byte, v any) error { return jsonv2.Unmarshal(data, v, jsonv1.DefaultOptionsV1()) }

// Form returns the schema of a request in the words of a vendor; ok is false where none
// was asked for, or the vendor's words do not reach: then the answer is only checked.
func Form(r llm.Request, d jsonschema.Dialect) (json.RawMessage, bool) {
	if len(r.Schema) == 0 {
		return nil, false
	}
	s, err := jsonschema.Parse(r.Schema)
	if err != nil {
		return nil, false
	}
	return s.Reduce(d)
}

// Whole returns the schema of a request as it was written, for vendors who take any that
// is about an object, and whether they can hold the model to all of it.
func Whole(r llm.Request) (schema json.RawMessage, strict, ok bool) {
	if len(r.Schema) == 0 {
		return nil, false, false
	}
	s, err := jsonschema.Parse(r.Schema)
	if err != nil || !s.Object() {
		return nil, false, false
	}
	return s.Text(), s.Strict(), true
}

// Marks keeps four of the messages after which a cache is to begin, as many as
// Anthropic's protocol allows: the first, which covers tools and system prompt,
// and the last three.
func Marks(after []int) []int {
	after = slices.Compact(slices.Sorted(slices.Values(after)))
	if len(after) > 4 {
		after = append(after[:1:1], after[len(after)-3:]...)
	}
	return after
}

// drawn begins the ids of calls that the vendor gave none.
const drawn = "drawn_"

// NewCallID draws an id for a call that came without one.
func NewCallID() string {
	b := make([]byte, 12)
	rand.Read(b)
	return drawn + hex.EncodeToString(b)
}

// IsDrawn reports whether an id is NewCallID's.
func IsDrawn(id string) bool { return len(id) > len(drawn) && id[:len(drawn)] == drawn }

// CallID returns an id that every vendor accepts: of letters, digits, "_" and "-",
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

// IDs says under which id each call of a request goes to the vendor of origin: a
// call of its own as it came, since some read meaning into their ids; another's
// as every vendor accepts it. Results have the id of their call.
type IDs map[string]string

// CallIDs looks at the calls of a request.
func CallIDs(r llm.Request, origin string) IDs {
	own := IDs{}
	for _, m := range r.Messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == llm.ToolCall && p.Origin == origin && p.CallID != "" {
				own[p.CallID] = p.CallID
			}
		}
	}
	return own
}

// Of returns the id under which a call or its result is sent.
func (own IDs) Of(id string) string {
	if as, ok := own[id]; ok {
		return as
	}
	return CallID(id)
}

// Arguments returns those of a call: they come as a string, and from some servers as
// the object itself.
func Arguments(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// DataURL returns an image or a document as an address that holds it.
func DataURL(p llm.Part) string {
	return "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// FileName returns what a document is called: some servers tell by the ending what it is.
func FileName(p llm.Part) string {
	if p.Name != "" {
		return p.Name
	}
	return "document.pdf"
}
