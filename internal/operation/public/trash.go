package public

// TrashItem is a file, link or folder in the trash.
type TrashItem struct {
	ID      string  `json:"id"`
	Path    string  `json:"path"`               // where it was
	RawPath []byte  `json:"raw_path,omitempty"` // if path is no UTF-8
	Kind    string  `json:"kind"`               // file, link, folder or worktree
	Size    int64   `json:"size"`
	At      string  `json:"at"`  // when it was moved
	Act     string  `json:"act"` // rewind, undo, restore, merge or worktree
	Agent   *string `json:"agent_uuid"`
}

// Trash lists the contents of a trash, the oldest first.
type Trash struct {
	Items []TrashItem `json:"items"`
	Bytes int64       `json:"bytes"`
}

// TrashRestored is an item that is back.
type TrashRestored struct {
	ID string `json:"id"`
	To string `json:"to"`
}

// TrashRestores lists the items that were restored.
type TrashRestores struct {
	Restored []TrashRestored `json:"restored"`
}

// TrashEmptied counts the items that were deleted for good, or would be.
type TrashEmptied struct {
	Plan  bool        `json:"plan"` // nothing was done
	Items []TrashItem `json:"items"`
	Bytes int64       `json:"bytes"`
}

// Trashed is a path whose content was moved to the trash.
type Trashed struct {
	Path string `json:"path"`
	ID   string `json:"id"` // empty in a plan
}
