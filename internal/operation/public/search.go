package public

import "ramet/internal/base/id"

// Search lists the messages of a workspace, or of one agent's history, that contain some words.
type Search struct {
	Found []Hit `json:"found"` // newest first
	More  bool  `json:"more"`  // there is more than was asked for, or than could be looked at in time
}

// Hit is one message.
type Hit struct {
	Agent  id.Agent   `json:"agent_uuid"` // who stored it
	ID     id.Message `json:"message_id"`
	Kind   string     `json:"kind"`
	At     string     `json:"created_at"`
	Around string     `json:"around"` // one line of the text near the words
}
