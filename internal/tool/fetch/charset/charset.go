// Package charset makes UTF-8 of the bytes of a page, as browsers do.
//
// Promises:
//
//   - What a byte order mark says counts first, then the server's word, then the page's own in its first
//     1024 bytes; where nobody says anything, bytes that are UTF-8 are that, and others are windows-1252.
//   - All names of encodings that browsers know are known; one that nobody knows counts as if it were not said.
//   - The result is valid UTF-8.
//   - Names and tables are looked at when a page needs them; nothing runs before main.
package charset

import (
	"encoding/binary"
	"mime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"ramet/internal/tool/fetch/markup"
)

// within is how far into a page its own word is looked for.
const within = 1024

// Text is what a server sent, as UTF-8. The media type is the one that it named.
func Text(body []byte, contentType string) string {
	name, mark := Name(body, contentType)
	body = body[mark:]
	switch name {
	case "utf-8":
	case "utf-16be":
		return wide(body, binary.BigEndian)
	case "utf-16le":
		return wide(body, binary.LittleEndian)
	default:
		if made, err := named(name).NewDecoder().Bytes(body); err == nil {
			return string(made)
		}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}

// wide makes text of two bytes each; the package for that would do something before main.
func wide(body []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(body)/2+1)
	for ; len(body) > 1; body = body[2:] {
		units = append(units, order.Uint16(body))
	}
	if len(body) > 0 { // half of one
		units = append(units, utf8.RuneError)
	}
	return string(utf16.Decode(units))
}

// Name is the name of an encoding as browsers have it, and the length of the byte order mark.
func Name(body []byte, contentType string) (name string, mark int) {
	for _, m := range []struct{ mark, name string }{{"\xEF\xBB\xBF", "utf-8"}, {"\xFE\xFF", "utf-16be"}, {"\xFF\xFE", "utf-16le"}} {
		if strings.HasPrefix(string(body[:min(len(body), 3)]), m.mark) {
			return m.name, len(m.mark)
		}
	}
	if _, said, err := mime.ParseMediaType(contentType); err == nil {
		if name := Lookup(said["charset"]); name != "" {
			return name, 0
		}
	}
	if name := declared(string(body[:min(len(body), within)])); name != "" {
		return name, 0
	}
	if utf8.Valid(body) {
		return "utf-8", 0
	}
	return "windows-1252", 0
}

// declared is the encoding that a page names itself. It cannot be one in which its own word could not be read.
func declared(head string) string {
	for s := markup.Scan(head); ; {
		t, ok := s.Next()
		if !ok {
			return ""
		}
		if t.Kind != markup.Start || t.Name != "meta" {
			continue
		}
		switch name := Lookup(said(t)); name {
		case "":
		case "utf-16le", "utf-16be":
			return "utf-8"
		case "x-user-defined":
			return "windows-1252"
		default:
			return name
		}
	}
}

// said is the name that an element meta gives.
func said(t markup.Token) string {
	content, is := "", false
	for _, a := range t.Attr {
		switch a.Key {
		case "charset":
			return a.Value
		case "content":
			content = a.Value
		case "http-equiv":
			is = strings.EqualFold(a.Value, "content-type")
		}
	}
	if !is {
		return ""
	}
	return inContent(content)
}

// inContent is the name behind charset= in a media type, in quotes or not.
func inContent(s string) string {
	for {
		at := strings.Index(strings.ToLower(s), "charset")
		if at < 0 {
			return ""
		}
		s = strings.TrimLeft(s[at+len("charset"):], " \t\n\f\r")
		if value, ok := strings.CutPrefix(s, "="); ok {
			s = strings.TrimLeft(value, " \t\n\f\r")
			break
		}
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		value, _, ok := strings.Cut(s[1:], s[:1])
		if !ok {
			return ""
		}
		return value
	}
	if end := strings.IndexAny(s, "; \t\n\f\r"); end >= 0 {
		s = s[:end]
	}
	return s
}

// Lookup is the name of an encoding that a label means; empty: none.
func Lookup(label string) string {
	label = strings.ToLower(strings.Trim(label, " \t\n\f\r"))
	if label == "" {
		return ""
	}
	for line := range strings.Lines(labels) {
		words := strings.Fields(line)
		for _, word := range words {
			if word == label {
				return words[0]
			}
		}
	}
	return ""
}
