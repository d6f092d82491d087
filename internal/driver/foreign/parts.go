package foreign

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	v2 "github.com/go-json-experiment/json"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// decode reads a line. Programs are written in other languages: what they do with names
// that stand twice, and with bytes that are no text, is no reason to lose a line.
func decode(line []byte, v any) error {
	return v2.Unmarshal(line, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func unreadable(path string, at history.Bytes, err error) error {
	return fault.New(fault.StorageIO, "read %s at byte %d: %w", path, at.Offset, err).
		WithHint("was it changed meanwhile? Import it again")
}

// used is what an answer used; nil: nothing that could be counted.
func used(model string, in, out, read, write, thought int64) *history.Used {
	const most = 1 << 50
	for _, n := range []int64{in, out, read, write, thought} {
		if n < 0 || n > most {
			return nil
		}
	}
	if in+out+read+write == 0 {
		return nil
	}
	return &history.Used{Model: plain(model), Input: in, Output: out, CacheRead: read, CacheWrite: write, Reasoning: thought}
}

// dollars is an amount that a program wrote, in nano-dollars.
func dollars(n float64) int64 {
	if !(n > 0 && n < 1e6) {
		return 0
	}
	return int64(math.Round(n * 1e9))
}

// words is one text.
func words(s string) []history.Part {
	return []history.Part{{Type: history.Text, Text: s}}
}

// sound makes parts what a history holds: texts that are text.
func sound(parts []history.Part) []history.Part {
	out := parts[:0]
	for _, p := range parts {
		p.Text, p.Name, p.CallID = plain(p.Text), plain(p.Name), plain(p.CallID)
		if p.Type == history.Text && p.Text == "" {
			continue
		}
		out = append(out, p)
	}
	return out
}

func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// call is a call with arguments as they came.
func call(id, name string, args json.RawMessage) history.Part {
	p := llm.NewCall(id, name, strings.TrimSpace(string(args)))
	return history.Part{Type: history.ToolCall, CallID: id, Name: name, Args: p.Args, Malformed: plain(p.Malformed)}
}

// picture is an image or a document of base64; where it is none, words say so.
func picture(kind, media, data string) history.Part {
	bytes, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(bytes) == 0 || media == "" {
		return history.Part{Type: history.Text, Text: "[" + kind + " that is not in the file]"}
	}
	t := history.Image
	if media == "application/pdf" {
		t = history.Document
	}
	return history.Part{Type: t, MediaType: media, Data: bytes}
}

var dataURL = text.Regexp(`^data:([^;,]+);base64,`)

// linked is an image that a URL holds, or names.
func linked(url string) history.Part {
	if m := dataURL().FindStringSubmatch(url); m != nil {
		return picture("image", m[1], url[len(m[0]):])
	}
	return history.Part{Type: history.Text, Text: "[image " + url + "]"}
}

// decodeText returns a JSON string, or "".
func decodeText(raw json.RawMessage) string {
	var s string
	if decode(raw, &s) != nil {
		return ""
	}
	return s
}
