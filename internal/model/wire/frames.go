package wire

import (
	"bufio"
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
