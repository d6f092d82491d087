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

// KnownProject is a project that the background kernel has opened, or can open.
type KnownProject struct {
	Key       string `json:"key"` // names it in paths: /p/KEY/
	Name      string `json:"name"`
	Folder    string `json:"folder"`
	Open      bool   `json:"open"`
	Working   int    `json:"working"`   // agents in a turn; 0 if it is not open
	Questions int    `json:"questions"` // that wait for an answer; 0 if it is not open
	Gone      bool   `json:"gone"`      // the folder does not exist any more
}
