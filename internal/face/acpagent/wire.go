package acpagent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/driver/acp"
)

const (
	maxLine = 16 << 20 // bytes of one message
	maxID   = 4 << 10  // bytes of an id
)

// newConn returns the connection to the editor. broken is called when the editor reads no more.
func (s *Server) newConn(out io.Writer, broken func(error)) *acp.Conn {
	write := func(line []byte) error {
		_, err := out.Write(line)
		if err != nil {
			broken(fmt.Errorf("%w: %v", acp.ErrGone, err))
		}
		return err
	}
	return &acp.Conn{Write: write, MaxLine: maxLine, Take: s.takeMessage, Bad: s.refuseLine}
}

// refuseLine answers a line that is no message. An answer to no request is ignored.
func (s *Server) refuseLine(b acp.BadLine) {
	id, because := noID, "a message is an object with the members of JSON-RPC"
	switch {
	case errors.Is(b.Err, bufio.ErrTooLong):
		id, because = findID(b.Text), fmt.Sprintf("a message of %d bytes is too long: %d at most", b.Size, maxLine)
	case b.Err != nil && !json.Valid(b.Text):
		s.conn.Answer(id, nil, sdk.NewParseError(map[string]any{"error": b.Err.Error()}))
		return
	case b.Err != nil:
	case hasBadID(b.Message):
		because = badID
	case b.Message.WantsAnswer() && (b.Message.Result != nil || b.Message.Error != nil):
		return
	default:
		because = "it has no method"
		if len(b.Message.ID) > 0 {
			id = b.Message.ID
		}
	}
	s.conn.Answer(id, nil, sdk.NewInvalidRequest(map[string]any{"error": because}))
}

const badID = "an id is a text or a number"

var noID = json.RawMessage("null")

// findID returns the id of a message of which only the beginning is there, or null.
func findID(head []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return noID
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return noID
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return noID
		}
		if name == "id" && isID(value) {
			return value
		}
	}
	return noID
}

func hasBadID(m acp.Message) bool { return len(m.ID) > 0 && !isID(m.ID) }

func isID(raw json.RawMessage) bool {
	return len(raw) <= maxID && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
