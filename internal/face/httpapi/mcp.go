package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"ramet/internal/base/id"
)

// MCP answers requests of the Model Context Protocol. The agent is who asks; empty: the
// person who holds the token.
type MCP interface {
	ServeMCP(w http.ResponseWriter, r *http.Request, by id.Agent)
}

// mcpBody is the most bytes of a request over MCP: a prompt, and what is around it.
const mcpBody = 4 << 20

func mcpRoute(server MCP) Route {
	return Route{Method: http.MethodPost, Path: "/mcp", Access: Processes, Limit: mcpBody, Stream: true, Serve: func(c *Call) error { return c.serveMCP(server) },
		Doc: Doc{ID: "callMCP", Tag: "mcp", Summary: "Speak the Model Context Protocol (streamable HTTP, without sessions): one JSON-RPC message",
			Input: json.RawMessage{}, Answers: []Answer{
				{Status: http.StatusOK, About: "A JSON-RPC response", Body: json.RawMessage{}},
				{Status: http.StatusAccepted, About: "A notification was taken"}}}}
}

func (c *Call) serveMCP(server MCP) error {
	if server == nil {
		return notHere("mcp server")
	}
	r := c.Request.Clone(c.Request.Context())
	r.Body = io.NopCloser(bytes.NewReader(c.Body))
	server.ServeMCP(c.Writer, r, c.agent)
	return nil
}
