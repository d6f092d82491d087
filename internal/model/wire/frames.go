package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
)

// framed is the content type of Amazon's event streams.
const framed = "application/vnd.amazon.eventstream"

// readFrames reads an answer in Amazon's frames: each is its length, the length of its
// headers, a checksum of both, headers, a payload, and a checksum of all. The
// payload of a chunk holds the event of the vendor's protocol in base64; an
// exception becomes the error event that the protocol has. It is scan for frames:
// when the input ends, err is why, or nil for its proper end between two frames.
func readFrames(in io.Reader, err *error) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for {
			headers, payload, e := readFrame(in)
			if e != nil {
				if !errors.Is(e, io.EOF) {
					*err = e
				}
				return
			}
			data, e := unwrapEvent(headers, payload)
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

// readFrame reads one frame. Its input ending before it begins is io.EOF.
func readFrame(in io.Reader) (headers map[string]string, payload []byte, err error) {
	var prelude [12]byte
	if _, err := io.ReadFull(in, prelude[:]); err != nil {
		return nil, nil, err
	}
	total, head := binary.BigEndian.Uint32(prelude[0:]), binary.BigEndian.Uint32(prelude[4:])
	switch {
	case crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]):
		return nil, nil, Garbled("the checksum of a frame's beginning is wrong")
	case total > MaxEvent:
		return nil, nil, errTooLong
	case total < 16 || head > total-16:
		return nil, nil, Garbled("a frame of %d bytes has %d bytes of headers", total, head)
	}
	rest := make([]byte, total-12)
	if _, err := io.ReadFull(in, rest); err != nil {
		return nil, nil, fmt.Errorf("within a frame: %w", errors.Join(io.ErrUnexpectedEOF, errorUnless(err, io.EOF)))
	}
	end := len(rest) - 4
	sum := crc32.Update(crc32.ChecksumIEEE(prelude[:]), crc32.IEEETable, rest[:end])
	if sum != binary.BigEndian.Uint32(rest[end:]) {
		return nil, nil, Garbled("the checksum of a frame is wrong")
	}
	headers, err = frameHeaders(rest[:head])
	return headers, rest[head:end], err
}

func errorUnless(err, usual error) error {
	if errors.Is(err, usual) {
		return nil
	}
	return err
}

// widths are the sizes of header values by their type; 6 and 7 carry theirs.
var widths = map[byte]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

// frameHeaders reads the headers of a frame; of values other than texts only the
// name is kept.
func frameHeaders(b []byte) (map[string]string, error) {
	out := map[string]string{}
	bad := func() (map[string]string, error) { return nil, Garbled("the headers of a frame are cut") }
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < n+2 {
			return bad()
		}
		name, kind := string(b[1:1+n]), b[1+n]
		b = b[2+n:]
		size, fixed := widths[kind]
		if kind == 6 || kind == 7 {
			if len(b) < 2 {
				return bad()
			}
			size, fixed = int(binary.BigEndian.Uint16(b)), true
			b = b[2:]
		}
		if !fixed || len(b) < size {
			return bad()
		}
		out[name] = string(b[:size])
		b = b[size:]
	}
	return out, nil
}

// unwrapEvent returns the event in a frame; nil where it holds none.
func unwrapEvent(headers map[string]string, payload []byte) ([]byte, error) {
	if kind := headers[":message-type"]; kind == "exception" || kind == "error" {
		var said struct{ Message string }
		json.Unmarshal(payload, &said)
		name := headers[":exception-type"] + headers[":error-code"]
		return nil, &Said{Kind: exceptions[name] + " " + name, Text: said.Message + headers[":error-message"], found: true}
	}
	if headers[":event-type"] != "chunk" {
		return nil, nil
	}
	var chunk struct{ Bytes []byte }
	if err := json.Unmarshal(payload, &chunk); err != nil {
		if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
			return nil, Garbled("the chunk in a frame is no base64")
		}
		return nil, Garbled("the payload of a frame is no chunk: %v", err)
	}
	return chunk.Bytes, nil
}

// exceptions are Amazon's words in those that classify knows.
var exceptions = map[string]string{
	"throttlingException": "rate_limit", "serviceUnavailableException": "overloaded",
	"modelStreamErrorException": "api_error", "internalServerException": "api_error",
	"validationException": "invalid_request", "modelTimeoutException": "overloaded",
}
