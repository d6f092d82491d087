package public

import (
	"unicode/utf8"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// FileState is a state of an agent's files, as an entry of its history tells it.
type FileState struct {
	ID        id.Message   `json:"id"` // of the entry
	AgentUUID id.Agent     `json:"agent_uuid"`
	CreatedAt string       `json:"created_at"`
	Root      *string      `json:"root"` // null: there is none
	None      *string      `json:"none"` // why
	Changed   int64        `json:"changed"`
	Bytes     int64        `json:"bytes"`
	When      history.When `json:"when"`
	Folder    string       `json:"folder"`
	Partial   bool         `json:"partial"`
	Seen      int64        `json:"seen"` // of a partial state: names that are known,
	Of        int64        `json:"of"`   // of how many
	Head      *string      `json:"head"`
	Branch    *string      `json:"branch"`
}

// FormatFileState is the shape of a state.
func FormatFileState(s history.Stated) FileState {
	return FileState{ID: s.ID, AgentUUID: s.Agent, CreatedAt: Stamp(s.CreatedAt), Root: Optional(s.Root), None: Optional(s.None),
		Changed: s.Changed, Bytes: s.Bytes, When: s.When, Folder: s.Folder, Partial: s.Partial(), Seen: s.Seen, Of: s.Of,
		Head: Optional(s.Head), Branch: Optional(s.Branch)}
}

// File is one file of a state.
type File struct {
	Path       string `json:"path"`
	RawPath    []byte `json:"raw_path,omitempty"` // base64, where the name is not UTF-8
	Kind       string `json:"kind"`               // file, link, folder, repository, other
	Mode       string `json:"mode"`
	Size       int64  `json:"size"`
	Hash       string `json:"hash"`
	Restorable bool   `json:"restorable"`
}

// FileList is a state with all its files.
type FileList struct {
	FileState
	Files []File `json:"files"`
}

// FileStates are states of an agent's files, oldest first.
type FileStates struct {
	States []FileState `json:"states"`
}

// RawName is the bytes of a name that is no UTF-8; nil of all others.
func RawName(path string) []byte {
	if utf8.ValidString(path) {
		return nil
	}
	return []byte(path)
}

// FileChange is a path at which two states differ.
type FileChange struct {
	Path    string `json:"path"`
	RawPath []byte `json:"raw_path,omitempty"`
	Verb    string `json:"verb"` // added, changed, removed, replaced, mode
	Diff    string `json:"diff"`
	Note    string `json:"note,omitempty"` // why there is no diff, or what else changed
}

// FileChanges are the paths at which two states differ.
type FileChanges struct {
	Changes []FileChange `json:"changes"`
}

// Restore describes the result of a restore, or its plan.
type Restore struct {
	State    FileState `json:"state"`    // that was gone back to
	Restored []string  `json:"restored"` // paths that got a content or a mode
	Removed  []string  `json:"removed"`
	Kept     []Kept    `json:"kept"`    // and were not touched
	Trashed  []Trashed `json:"trashed"` // of those restored or removed: their content before is in the trash
	Plan     bool      `json:"plan"`    // nothing was done
	EntryID  *int64    `json:"entry_id"`
}

// Kept is a path that was not touched, and why.
type Kept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// TrashItem is a file, link or folder in the trash.
type TrashItem struct {
	ID      string  `json:"id"`
	Path    string  `json:"path"`               // where it was
	RawPath []byte  `json:"raw_path,omitempty"` // if path is not UTF-8
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
