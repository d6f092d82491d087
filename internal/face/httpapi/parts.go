package httpapi

import (
	"encoding/json"
	"strconv"
	"strings"

	"ramet/internal/core/history"
)

// shownPart is a part without what is too large to be shown in a list.
type shownPart struct {
	history.Part
	Cut bool `json:"cut,omitempty"` // size says how large its content is; it is read by itself
}

// boundedParts leaves large parts as they are stored, which is by reference, and makes
// references of the few kinds of content that are stored in place, however large.
func boundedParts(stored json.RawMessage) json.RawMessage {
	const small, most = 64 << 10, 128 << 10
	if len(stored) <= small {
		return stored
	}
	var parts []shownPart
	if json.Unmarshal(stored, &parts) != nil {
		return json.RawMessage("[]") // what is stored is parts; verify finds what is not
	}
	size := 0
	for i := range parts {
		p := &parts[i]
		p.Signature, p.Opaque = "", nil // only their vendor reads them
		p.Show = clip(p.Show, history.BlobCutoff)
		p.Malformed = clip(p.Malformed, history.BlobCutoff)
		if len(p.Args) > history.BlobCutoff {
			p.Size, p.Args, p.Cut = int64(len(p.Args)), nil, true
		}
		if size += len(p.Text) + len(p.Args) + len(p.Data) + len(p.Show) + len(p.Malformed) + 64; size > most {
			parts = append(parts[:i], shownPart{Part: history.Part{Type: history.Text,
				Text: "[" + strconv.Itoa(len(parts)-i) + " more parts]"}, Cut: true})
			break
		}
	}
	out, err := encode(parts)
	if err != nil {
		return json.RawMessage("[]")
	}
	return out[:len(out)-1]
}

// clip is the beginning of a text.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
