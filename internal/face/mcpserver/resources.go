package mcpserver

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
)

// EntryPage is a page of what an agent stored, oldest first.
type EntryPage struct {
	Entries []public.Entry `json:"entries"`
	Next    id.Message     `json:"next"` // the after of the next page
}

const (
	agentsURI = "ramet://agents"
	runsURI   = "ramet://runs"
	jsonMedia = "application/json"
)

// addResources offers what can be read. The path of a resource is that of the HTTP API,
// where it has one.
func (s *Server) addResources(l *sdk.Server, c Caller) {
	plain := func(uri, name, about string) {
		l.AddResource(&sdk.Resource{URI: uri, Name: name, Description: about, MIMEType: jsonMedia}, s.reader(c))
	}
	plain(agentsURI, "agents", "Living agents, parents before children, as ramet ps --json")
	plain(runsURI, "runs", "Orchestrated runs, as ramet run list --json")
	many := func(uri, name, about string) {
		l.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: uri, Name: name, Description: about, MIMEType: jsonMedia}, s.reader(c))
	}
	many(agentsURI+"/{ref}", "agent", "One agent, as ramet show --json")
	many(agentsURI+"/{ref}/history{?after,limit}", "history", "What an agent stored after a message: entries as ramet log --own --json, and next, the cursor of the next page")
	many(runsURI+"/{id}/events{?after,limit}", "events", "Events of a run, and next, the cursor of the next page")
}

func (s *Server) reader(c Caller) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		ctx, err := s.admit(ctx, c)
		if err != nil {
			return nil, told(err)
		}
		ctx, cancel := context.WithTimeout(ctx, s.o.Patience)
		defer cancel()
		text, err := s.resource(ctx, r.Params.URI)
		if fault.Is(err, fault.NotFound) {
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		if err != nil {
			return nil, told(err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: jsonMedia, Text: string(text)}}}, nil
	}
}

// told is an error with its code and what to do, which the protocol has no place for.
func told(err error) error {
	e := public.FormatError(err)
	return fault.New(e.Code, "error[%s]: %s %s", e.Code, e.Message, e.Hint)
}

func (s *Server) resource(ctx context.Context, uri string) (json.RawMessage, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "ramet" {
		return nil, fault.New(fault.NotFound, "there is nothing at this address")
	}
	after, limit, err := cursor(u.Query())
	if err != nil {
		return nil, err
	}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch kind := u.Host; {
	case kind == "agents" && u.Path == "":
		return s.call(ctx, &operation.Ps, &operation.PsInput{})
	case kind == "runs" && u.Path == "":
		return s.call(ctx, &operation.ListRuns, &operation.ListRunsInput{Brief: true})
	case kind == "agents" && len(path) == 1:
		return s.call(ctx, &operation.Show, &operation.ShowInput{Agent: operation.AgentRef(path[0])})
	case kind == "agents" && len(path) == 2 && path[1] == "history":
		return s.history(ctx, path[0], id.Message(after), int(limit))
	case kind == "runs" && len(path) == 2 && path[1] == "events":
		return s.call(ctx, &operation.ReadRunEvents, &operation.RunEventsInput{ID: operation.RunID(path[0]), After: after, Limit: &limit})
	}
	return nil, fault.New(fault.NotFound, "there is nothing at this address")
}

// cursor reads where a page begins and how long it is.
func cursor(q url.Values) (after, limit int64, err error) {
	limit = 50
	for name, into := range map[string]*int64{"after": &after, "limit": &limit} {
		if !q.Has(name) || q.Get(name) == "" {
			continue
		}
		if *into, err = strconv.ParseInt(q.Get(name), 10, 64); err != nil || *into < 0 {
			return 0, 0, fault.New(fault.InvalidField, "%s must be a number", name)
		}
	}
	if limit < 1 || limit > 1000 {
		return 0, 0, fault.New(fault.InvalidField, "limit must be from 1 to 1000")
	}
	return after, limit, nil
}

func (s *Server) history(ctx context.Context, ref string, after id.Message, limit int) (json.RawMessage, error) {
	ws := s.o.Workspace
	a, err := ws.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	out := EntryPage{[]public.Entry{}, after}
	err = ws.Store.View(ctx, func(log history.Log) error {
		in, err := history.Membership(ctx, log, a.ID)
		if err != nil {
			return err
		}
		found, _, err := history.FirstAfter(ctx, log, []history.Range{{Agent: a.ID}}, after, limit)
		if err != nil {
			return err
		}
		for _, e := range found {
			shape, err := public.ReadEntry(e, in(e), func(h chain.Hash) ([]byte, error) { return ws.Store.Blob(ctx, h) })
			if err != nil {
				return err
			}
			out.Entries, out.Next = append(out.Entries, shape), e.ID
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return public.Marshal(out)
}
