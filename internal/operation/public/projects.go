package public

import "time"

// Projects are the workspaces that ramet's home holds, the last used first.
type Projects struct {
	Projects []Project `json:"projects"`
}

// Project is one of them.
type Project struct {
	Name   string    `json:"name"` // of its workspace
	Folder string    `json:"folder"`
	Agents int       `json:"agents"` // the living
	Asked  string    `json:"asked"`  // what was said last to agent 0; empty: nothing
	UsedAt time.Time `json:"used_at"`
	Gone   bool      `json:"gone"` // the folder is not there any more
}
