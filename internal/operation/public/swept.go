package public

// Swept lists the things that a gc dropped, or would drop.
type Swept struct {
	Plan  bool        `json:"plan"` // nothing was done
	Bytes int64       `json:"bytes"`
	Parts []SweptPart `json:"parts"`
}

// SweptPart is one kind of thing.
type SweptPart struct {
	What  string `json:"what"` // blobs, states, worktrees, caches, evidence, artifacts
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"`
	Kept  []Kept `json:"kept"` // what could have gone, and stays
}
