package httpapi

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// PartContent is a piece of a part's content.
type PartContent struct {
	Type      history.PartType `json:"type"`
	MediaType string           `json:"media_type,omitempty"`
	Text      string           `json:"text"`           // the text; of a call, its arguments
	Data      []byte           `json:"data,omitempty"` // the bytes of an image, whole
	Size      int64            `json:"size"`           // how large the whole content is, in bytes
	Next      *int64           `json:"next"`           // offset of the next piece; null: there is none
}

// maxPiece limits the text in one answer, maxImage the size of an image.
const (
	maxPiece = 1 << 20
	maxImage = 16 << 20
)

func (a Agents) part(c *Call, _ None) (PartContent, error) {
	var out PartContent
	offset, err := c.Number("offset", 0, math.MaxInt64, 0)
	if err != nil {
		return out, err
	}
	found, err := a.find(c)
	if err != nil {
		return out, err
	}
	m, err := id.ParseMessage(c.Param("message"))
	if err != nil {
		return out, err
	}
	part, err := a.readPart(c.Context(), found, m, c.Param("part"))
	if err != nil {
		return out, err
	}
	out = PartContent{Type: part.Type, MediaType: part.MediaType, Text: part.Text}
	switch part.Type {
	case history.Image, history.Document:
		if out.Size = int64(len(part.Data)); out.Size > maxImage {
			return out, Refuse(http.StatusRequestEntityTooLarge, codeTooLarge, "it has "+strconv.FormatInt(out.Size, 10)+" bytes, too many to be sent")
		}
		out.Data = part.Data
		return out, nil
	case history.ToolCall:
		if out.Text = string(part.Args); out.Text == "" {
			out.Text = part.Malformed
		}
	}
	out.Size = int64(len(out.Text))
	out.Text = out.Text[min(offset, out.Size):]
	for len(out.Text) > 0 && !utf8.RuneStart(out.Text[0]) {
		out.Text = out.Text[1:]
	}
	if len(out.Text) > maxPiece {
		begin, end := out.Size-int64(len(out.Text)), maxPiece
		for !utf8.RuneStart(out.Text[end]) {
			end--
		}
		next := begin + int64(end)
		out.Text, out.Next = out.Text[:end], &next
	}
	return out, nil
}

func (a Agents) readPart(ctx context.Context, of agent.Agent, m id.Message, number string) (history.Part, error) {
	e, err := a.Store.Entry(ctx, m)
	if err != nil {
		return history.Part{}, err
	}
	lineage, err := a.Store.Lineage(ctx, of.ID)
	if err != nil {
		return history.Part{}, err
	}
	parts, err := e.Parts()
	if err != nil {
		return history.Part{}, err
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(parts) || !slices.ContainsFunc(lineage, func(up history.Ancestor) bool { return up.Agent == e.Agent }) {
		return history.Part{}, fault.New(fault.NotFound, "agent %s has no part %.20q of message %d", of.Label(), number, m).
			WithHint("parts are counted from 0")
	}
	one := parts[n : n+1]
	err = history.Fill(one, func(h chain.Hash) ([]byte, error) { return a.Store.Blob(ctx, h) })
	return one[0], err
}
