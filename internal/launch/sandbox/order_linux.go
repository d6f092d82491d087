package sandbox

// marker is the name under which the binary is its own helper.
const marker = "ramet-sandbox"

// The helper's descriptors: it is told what to do on the one, whose end is also
// the end of ramet, and tells what happened on the other. The third is the folder
// in which a confined command's temporary folder is, and the fourth, where names are
// looked after, that in which the quarantine is or will be.
const (
	controlFD = 3
	reportFD  = 4
	parentFD  = 5
	guardFD   = 6
)

// way describes how a command's processes are held together.
type way struct {
	Spaces bool // namespaces; else a subreaper
	User   bool // with a user namespace, which an ordinary user needs
}

// order is sent to the helper. It is encoded as gob, which leaves texts as they are;
// JSON would not, where they are no UTF-8.
type order struct {
	Way      way
	Path     string
	Args     []string
	Dir      string
	Env      []string
	Replace  map[string]string
	Confined bool    // that there is a box, said twice
	Box      *inside // nil: not confined
	Dry      bool    // prepare all and run nothing
	For      *Mark   // what it bears; nil: nothing

	// Guarded lets the helper look after names in ramet's stead; nil: nobody does.
	Guarded    *GuardState
	Quarantine string // its name in the folder of guardFD

	watch  *GuardWatch // these stay here
	speaks *Speech
}

// inside is a Box with what ramet found out for the helper: real paths.
type inside struct {
	Write, Keep, Hide []string
	Fixed             []string            // of Keep, what also stays at its path: all but what the guard found
	Same              map[string]identity // of the folders of Write
	Sockets           []string            // to be covered
	Freeze            []string            // folders in which later entries are not seen
	Temp              string              // the command's own folder; see tempFolder
	Network           bool
	Limits            Limits // without zeros
}

// report is a line of JSON from the helper: that the command
// runs or why not, and how it ended.
type report struct {
	Step   string // what failed; empty: nothing
	Why    string
	Denied bool // the kernel does not allow it, now or later

	Code, Signal int
	Limit        string // that was hit; empty: none
}
