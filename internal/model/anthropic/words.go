package anthropic

import (
	"bytes"
	"unicode/utf8"
)

// What the vendor writes around the words of an answer, which are nearly all of its events.
var (
	beforeIndex = []byte(`{"type":"content_block_delta","index":`)
	beforeWords = []byte(`,"delta":{"type":"text_delta","text":"`)
)

// words reads an event that is nothing but a few plain words, as the vendor writes it, without the JSON
// library. Not ok: it is another event, or written in another way, and is to be read by the library.
func words(data []byte) (index int, text string, ok bool) {
	rest, ok := bytes.CutPrefix(data, beforeIndex)
	if !ok || len(rest) < 2 || rest[0]-'0' > 9 || rest[1] != ',' {
		return 0, "", false
	}
	index = int(rest[0] - '0')
	if rest, ok = bytes.CutPrefix(rest[1:], beforeWords); !ok {
		return 0, "", false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || !plain(rest[:end]) {
		return 0, "", false
	}
	tail := bytes.TrimLeft(rest[end+1:], " ") // it pads its events
	if len(tail) == 0 || tail[0] != '}' {
		return 0, "", false
	}
	if tail = bytes.TrimLeft(tail[1:], " "); string(tail) != "}" {
		return 0, "", false
	}
	return index, string(rest[:end]), true
}

// plain says that the inside of a JSON string is what it stands for.
func plain(s []byte) bool {
	ascii := true
	for _, c := range s {
		if c < ' ' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(s)
}
