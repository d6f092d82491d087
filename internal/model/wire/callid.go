package wire

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"ramet/internal/base/chain"
	"ramet/internal/model/llm"
)

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
