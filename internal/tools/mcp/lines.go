package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"ramet/internal/base/text"
)

// lines hands on what a server says, one message a line, and drops what is none: banners,
// blank lines, what it logs ("[info] ready", {"level":"info"}). A message that is too long becomes an answer that says so, so that the
// conversation continues.
type lines struct {
	from io.ReadCloser
	in   *bufio.Reader
	most int
	rest []byte
	news string // the last message, if it only said that a list has changed
}

func newLines(from io.ReadCloser, most int) *lines {
	return &lines{from: from, in: bufio.NewReaderSize(from, 64<<10), most: most}
}

func (l *lines) Close() error { return l.from.Close() }

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if len(line) == 0 && err != nil {
			return 0, err
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next returns the next message with its end of line, or nothing.
func (l *lines) next() ([]byte, error) {
	var line []byte
	long, tail := 0, []byte(nil)
	for {
		piece, err := l.in.ReadSlice('\n')
		if long == 0 && len(line)+len(piece) <= l.most {
			line = append(line, piece...)
		} else {
			if long == 0 {
				tail = append(tail, line[max(0, len(line)-ends):]...)
				long, line = len(line), line[:min(len(line), ends)]
			}
			long += len(piece)
			tail = append(tail, piece...)
			tail = tail[max(0, len(tail)-ends):]
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if long > 0 {
			return tooLong(line, tail, long), err
		}
		if err != nil || !isMessage(bytes.TrimSpace(line)) {
			return nil, err // a message that was cut off is none
		}
		if !bytes.Contains(line[:min(len(line), ends)], []byte(`/list_changed"`)) {
			l.news = ""
		} else if l.news == string(line) {
			return nil, nil // said once is enough
		} else {
			l.news = string(line)
		}
		return line, nil
	}
}

// isMessage reports whether a line is a message of the protocol, or several: whatever else would end the
// conversation.
func isMessage(line []byte) bool {
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return false
	}
	if line[0] == '{' {
		_, err := jsonrpc.DecodeMessage(line)
		return err == nil
	}
	var batch []json.RawMessage
	return json.Unmarshal(line, &batch) == nil && len(batch) > 0 && !slices.ContainsFunc(batch, func(one json.RawMessage) bool {
		_, err := jsonrpc.DecodeMessage(one)
		return err != nil
	})
}

// ends limits how much of both ends of a message is read.
const ends = 4 << 10

var (
	idFirst = text.Regexp(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]+|"[^"\\]{1,100}")`)
	idLast  = text.Regexp(`"id"\s*:\s*([0-9]+|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// tooLong returns the answer that stands for one that is too long; nothing if it cannot be known what
// it answers.
func tooLong(head, tail []byte, size int) []byte {
	m := idFirst().FindSubmatch(head)
	if m == nil {
		m = idLast().FindSubmatch(tail)
	}
	if m == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the answer has %d bytes, more than are read; it was carried out"}}`+"\n", m[1], codeTooLong, size)
}

const codeTooLong = -32099
