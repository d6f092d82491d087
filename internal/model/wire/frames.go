package wire

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/aws/smithy-go/eventstream"
)

// framed is the content type of Amazon's event streams.
const framed = "application/vnd.amazon.eventstream"

// readFrames reads an answer in Amazon's frames. The payload of a chunk holds the event of the vendor's protocol in
// base64; an exception becomes the error event that the protocol has. It is scanEvents for frames: when the input
// ends, err is why, or nil for its proper end between two frames.
func readFrames(in io.Reader, err *error) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		source := &endingReader{r: in}
		frames, decoder := bufio.NewReader(source), eventstream.NewDecoder()
		for {
			head, e := frames.Peek(4) // its length
			switch {
			case len(head) == 4 && binary.BigEndian.Uint32(head) > MaxEvent:
				*err = errTooLong
				return
			case len(head) == 0 && errors.Is(e, io.EOF):
				return
			}
			m, e := decoder.Decode(frames, nil)
			switch {
			case e == nil:
			case source.end != nil:
				*err = fmt.Errorf("within a frame: %w", errors.Join(io.ErrUnexpectedEOF, source.end))
				return
			default:
				*err = Garbled("a frame is damaged: %v", e)
				return
			}
			data, e := unwrapEvent(m)
			if e != nil {
				*err = e
				return
			}
			if data != nil && !yield("", data) {
				return
			}
		}
	}
}

// endingReader remembers why its input ended.
type endingReader struct {
	r   io.Reader
	end error
}

func (n *endingReader) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil {
		n.end = err
	}
	return k, err
}

// unwrapEvent returns the event in a frame; nil where it holds none.
func unwrapEvent(m eventstream.Message) ([]byte, error) {
	header := func(name string) string {
		if v := m.Headers.Get(name); v != nil {
			return v.String()
		}
		return ""
	}
	if kind := header(":message-type"); kind == "exception" || kind == "error" {
		var said struct{ Message string }
		json.Unmarshal(m.Payload, &said)
		name := header(":exception-type") + header(":error-code")
		return nil, &Said{Kind: exceptions[name] + " " + name, Text: said.Message + header(":error-message"), found: true}
	}
	if header(":event-type") != "chunk" {
		return nil, nil
	}
	var chunk struct{ Bytes []byte }
	if err := json.Unmarshal(m.Payload, &chunk); err != nil {
		if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
			return nil, Garbled("the chunk in a frame is not base64")
		}
		return nil, Garbled("the payload of a frame is not a chunk: %v", err)
	}
	return chunk.Bytes, nil
}

// exceptions are Amazon's words in those that classify knows.
var exceptions = map[string]string{
	"throttlingException": "rate_limit", "serviceUnavailableException": "overloaded",
	"modelStreamErrorException": "api_error", "internalServerException": "api_error",
	"validationException": "invalid_request", "modelTimeoutException": "overloaded",
}

var errTooLong = errors.New("event too long")

// scanEvents reads server-sent events: name and data of each. Comments, other
// fields and events without a byte of data, by which some servers say that they are
// still there, are passed over. What stands behind the last empty line is only part of
// an event and is dropped, as the standard demands. When the input ends, err is
// why, or nil for its proper end. The data is good until the next event.
func scanEvents(in io.Reader, err *error) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		lines := bufio.NewScanner(in)
		lines.Buffer(make([]byte, 16<<10), MaxEvent)
		lines.Split(splitLines())
		name, data, any := "", []byte(nil), false
		last := "" // the newest name: most events have that of the one before
		for first := true; lines.Scan(); first = false {
			line := lines.Bytes()
			if first { // a byte order mark may stand before everything
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if len(line) == 0 {
				if len(data) > 0 && !yield(name, data) {
					return
				}
				name, data, any = "", data[:0], false
				continue
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "event":
				if string(value) != last {
					last = string(value)
				}
				name = last
			case "data":
				if any {
					data = append(data, '\n')
				}
				data, any = append(data, value...), true
				if len(data) > MaxEvent {
					*err = errTooLong
					return
				}
			}
		}
		if *err = lines.Err(); errors.Is(*err, bufio.ErrTooLong) {
			*err = errTooLong
		}
	}
}

// splitLines splits at LF, CR LF or CR. What follows the last of them is no whole line.
func splitLines() bufio.SplitFunc {
	afterCR := false // a LF that follows belongs to the line before
	return func(data []byte, atEOF bool) (advance int, line []byte, err error) {
		start := 0
		if afterCR && len(data) > 0 {
			if afterCR = false; data[0] == '\n' {
				start = 1
			}
		}
		end := bytes.IndexAny(data[start:], "\r\n")
		switch {
		case end >= 0:
			end += start
			afterCR = data[end] == '\r'
			return end + 1, data[start:end], nil
		case atEOF:
			return len(data), nil, nil
		}
		return start, nil, nil
	}
}
