package public

// Trust lists the things in a project that act, and how they differ from what a person accepted.
type Trust struct {
	Project string  `json:"project"`
	Trusted bool    `json:"trusted"` // everything that acts was accepted as it is
	Given   bool    `json:"given"`   // something was accepted before
	Digest  string  `json:"digest"`  // names what accepting would accept
	Things  []Thing `json:"things"`
}

// Thing is one of them.
type Thing struct {
	Kind      string   `json:"kind"`
	Path      string   `json:"path"`
	SHA256    *string  `json:"sha256"` // null: it would not act
	Size      int      `json:"size"`
	Does      string   `json:"does"`
	Change    string   `json:"change"` // same, new, changed, gone
	Link      *string  `json:"link"`   // where a link inside the project leads
	Refused   *string  `json:"refused"`
	Invisible []string `json:"invisible"`
	Diff      string   `json:"diff"`
}
