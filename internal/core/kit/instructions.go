package kit

import (
	"fmt"
	"strings"

	"ramet/internal/core/trust"
)

// MostInstructions limits how much of it all an agent is told, in bytes.
const MostInstructions = 128 << 10

// InstructionText is one file of it.
type InstructionText struct {
	From string // its path: below the project, or the user's
	By   string // the file that imports it; empty: none does
	User bool   // it is the user's own
	Body string
}

// InstructionWords are texts in the order in which an agent reads them, and what people should know.
type InstructionWords struct {
	Texts  []InstructionText
	Notes  []string
	Differ []string // those of Notes about files that are not as a person accepted them; each begins with the file
	Size   int      // bytes of all bodies
}

// InstructionReader reads what a person accepted in a project; trust.Shelf is one.
type InstructionReader interface {
	Text(kind trust.Kind, path string) (t trust.Text, ok bool, err error)
	First(kind trust.Kind, paths ...string) (trust.Text, error)
}

// String returns the words as a model reads them.
func (w InstructionWords) String() string {
	var b strings.Builder
	for i, t := range w.Texts {
		if i > 0 {
			b.WriteString("\n\n")
		}
		whose := "Instructions of this project, from "
		if t.User {
			whose = "Instructions of the user, from "
		}
		b.WriteString(whose + t.From)
		if t.By != "" {
			b.WriteString(" (imported by " + t.By + ")")
		}
		b.WriteString(":\n\n" + strings.TrimSpace(t.Body))
	}
	return b.String()
}

// differs notes a file that is not as a person accepted it.
func (w *InstructionWords) differs(note string) {
	w.Notes, w.Differ = append(w.Notes, note), append(w.Differ, note)
}

func (w *InstructionWords) note(format string, args ...any) {
	w.Notes = append(w.Notes, fmt.Sprintf(format, args...))
}

// put adds a text, as far as there is room.
func (w *InstructionWords) put(t InstructionText, room int) {
	left := room - w.Size
	switch {
	case strings.TrimSpace(t.Body) == "":
		return
	case left <= 0:
		w.note("%s is left out: the instructions are longer than %d bytes", t.From, MostInstructions)
		return
	case len(t.Body) > left:
		w.note("%s is cut: the instructions are longer than %d bytes", t.From, MostInstructions)
		t.Body = strings.ToValidUTF8(t.Body[:left], "") + fmt.Sprintf("\n[… %d bytes are left out here: the instructions are longer than %d bytes …]", len(t.Body)-left, MostInstructions)
		w.Size = room
	default:
		w.Size += len(t.Body)
	}
	w.Texts = append(w.Texts, t)
}
