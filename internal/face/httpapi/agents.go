package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// Agents serves the routes below /api/v1/agents, /api/v1/permissions and /api/v1/events. Without a store they answer
// NOT_FOUND.
type Agents struct {
	Client    operation.Client
	Workspace *session.Workspace // a kernel runs there
	Store     AgentStore
	Events    *Events // what happens in the kernel and in the store
	Asks      *Asks   // what the kernel's policy asks; nil: nothing is asked
}

// AgentStore is the part of a workspace that routes read.
type AgentStore interface {
	agent.Directory
	history.Log
	history.Viewer
	mail.Boxes
}

// here refuses where there is no kernel.
func (a Agents) here() error {
	if a.Store == nil {
		return notHere("kernel")
	}
	return nil
}

func (a Agents) find(c *Call) (agent.Agent, error) {
	if err := a.here(); err != nil {
		return agent.Agent{}, err
	}
	return agent.Find(c.Context(), a.Store, c.Param("ref"))
}

// agentRoutes returns the routes of agents; without a kernel they answer NOT_FOUND.
func agentRoutes(a Agents) []Route {
	const one = "/api/v1/agents/{ref}"
	doc := func(id, summary string, query ...Param) Doc {
		return Doc{ID: id, Tag: "agents", Summary: summary, Query: query}
	}
	table := append(a.operationRoutes(),
		Does(Route{Method: http.MethodGet, Path: "/api/v1/home", Doc: doc("getHome", "List the living as the screens of all agents show them: by what a person can do about them")},
			http.StatusOK, a.home),
		Does(Route{Method: http.MethodGet, Path: one + "/messages", Doc: doc("listMessages", "Read a page of an agent's messages, oldest first",
			Param{Name: "after", About: "only after this message", Form: "integer"},
			Param{Name: "before", About: "the newest before this message, instead", Form: "integer"},
			Param{Name: "limit", About: "1 to 1000; 100 if absent", Form: "integer"},
			Param{Name: "own", About: "1: its own entries, of every kind; 0: its whole lineage, back to the last clear", Form: "boolean"})},
			http.StatusOK, a.messages),
		Does(Route{Method: http.MethodGet, Path: one + "/messages/{message}/parts/{part}", Doc: doc("getPart", "Read the content of a part that is stored separately",
			Param{Name: "offset", About: "bytes to leave out", Form: "integer"})}, http.StatusOK, a.part),
		a.eventRoute(),
	)
	return append(table, a.permissionRoutes()...)
}

// home returns the screen of all agents. A client that follows the events asks again after each that names
// an agent, or none.
func (a Agents) home(c *Call, _ None) (public.Home, error) {
	if err := a.here(); err != nil {
		return public.Home{}, err
	}
	facts, err := a.Workspace.Agents().Overview(c.Context())
	if err != nil {
		return public.Home{}, err
	}
	facts.Asks = map[id.Agent]string{}
	if a.Asks != nil {
		for _, ask := range a.Asks.List() {
			if facts.Asks[ask.Agent] == "" { // the oldest comes first
				facts.Asks[ask.Agent] = ask.Text
			}
		}
	}
	return public.FormatHome(public.MakeHome(facts)), nil
}

// MessageHere is a message of the history of an agent.
type MessageHere struct {
	public.Message
	Depth     int  `json:"depth"` // of the agent that stored it: generations below agent 0
	InContext bool `json:"in_context"`
	Redacted  bool `json:"redacted"`
}

// MessagePage is a page of messages, oldest first.
type MessagePage struct {
	Messages []MessageHere `json:"messages"`
	Next     *id.Message   `json:"next"`     // after, for the page behind; null: there is none now
	Previous *id.Message   `json:"previous"` // before, for the page in front; null: there is none, or it was not asked for
}

// maxPage limits the bytes of messages on a page, approximately.
const maxPage = 4 << 20

func (a Agents) messages(c *Call, _ None) (MessagePage, error) {
	out := MessagePage{Messages: []MessageHere{}}
	after, err := c.Number("after", 0, math.MaxInt64, 0)
	if err != nil {
		return out, err
	}
	before, err := c.Number("before", 1, math.MaxInt64, 0)
	if err != nil {
		return out, err
	}
	limit, err := c.Number("limit", 1, 1000, 100)
	if err != nil {
		return out, err
	}
	own, err := c.Flag("own")
	if err != nil {
		return out, err
	}
	if c.Has("after") && c.Has("before") {
		return out, badQuery("before", "does not go with after", "")
	}
	found, err := a.find(c)
	if err != nil {
		return out, err
	}
	err = a.Store.View(c.Context(), func(log history.Log) error {
		r := pager{log: log, agent: found, limit: int(limit), page: &out}
		if err := r.open(c.Context(), own); err != nil {
			return err
		}
		return r.read(c.Context(), id.Message(after), id.Message(before))
	})
	return out, err
}

type pager struct {
	log    history.Log
	agent  agent.Agent
	limit  int
	page   *MessagePage
	ranges []history.Range
	in     func(history.Entry) bool
	depths map[id.Agent]int
	bytes  int
}

func (r *pager) open(ctx context.Context, own bool) (err error) {
	lineage, err := r.log.Lineage(ctx, r.agent.ID)
	if err != nil {
		return err
	}
	r.depths = make(map[id.Agent]int, len(lineage))
	for i, up := range lineage {
		r.depths[up.Agent] = len(lineage) - 1 - i
	}
	if r.in, err = history.Membership(ctx, r.log, r.agent.ID); err != nil {
		return err
	}
	if own {
		r.ranges = []history.Range{{Agent: r.agent.ID, End: history.NoLimit}}
		return nil
	}
	r.ranges, err = history.BuildRanges(ctx, r.log, r.agent.ID)
	return err
}

// read reads what comes after a message, or before one.
func (r *pager) read(ctx context.Context, after, before id.Message) error {
	read, from, next := history.FirstAfter, after, &r.page.Next
	if before > 0 {
		read, from, next = history.LastBefore, before, &r.page.Previous
	}
	entries, more, err := read(ctx, r.log, r.ranges, from, r.limit)
	for i, e := range entries {
		if r.bytes > maxPage {
			entries, more = entries[:i], true
			break
		}
		r.add(e)
	}
	if more {
		*next = &entries[len(entries)-1].ID
	}
	if before > 0 {
		slices.Reverse(r.page.Messages)
	}
	return err
}

func (r *pager) add(e history.Entry) {
	m := MessageHere{Message: public.FormatEntry(e), Depth: r.depths[e.Agent], InContext: r.in(e), Redacted: e.Content == nil}
	if m.Redacted {
		m.Parts = json.RawMessage(`[{"type":"text","text":"` + history.RedactedText + `"}]`)
	}
	m.Parts = boundedParts(m.Parts)
	r.bytes += len(m.Parts) + len(m.Meta)
	r.page.Messages = append(r.page.Messages, m)
}

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

// shownPart is a part without what is too large to be shown in a list.
type shownPart struct {
	history.Part
	Cut bool `json:"cut,omitempty"` // the content, of the given size, is read by itself
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

// clip returns the first bytes of a text.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
