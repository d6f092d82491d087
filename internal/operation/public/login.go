package public

// ServerLogin is what came of a login at an MCP server.
type ServerLogin struct {
	Server  string `json:"server"`
	Outcome string `json:"outcome"`
}
