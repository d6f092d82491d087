package public

import "ramet/internal/turn/loop"

// AppendWords appends the JSON form of Format(e), without its closing brace, for an event that has no more than
// its type, its agent and a text: the same bytes as encoding/json writes. Whoever streams has thousands.
func AppendWords(b []byte, e loop.Event) []byte {
	b = quote(append(b, `{"type":`...), string(e.Type))
	if e.Agent != "" {
		b = field(b, "agent_uuid", string(e.Agent))
	}
	if e.Text != "" {
		b = field(b, "text", e.Text)
	}
	return b
}
