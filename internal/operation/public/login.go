package public

// ServerLogin is the result of a login at an MCP server.
type ServerLogin struct {
	Server  string `json:"server"`
	Outcome string `json:"outcome"`
}
