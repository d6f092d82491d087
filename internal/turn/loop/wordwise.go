package loop

// wordwise shows what a model says while it says it. A credential that comes in pieces
// must not be shown in pieces, so a word is held back until it ends; what is not
// ASCII is no credential and waits for nothing.
type wordwise struct {
	turn *turn
	kind EventType
	rest string
}

func (v *wordwise) show(piece string) {
	all := v.rest + piece
	n := len(all)
	for n > 0 && len(all)-n < window && all[n-1] > ' ' && all[n-1] < 0x7f {
		n--
	}
	v.pass(all[:n], all[n:])
}

// drop shows the rest.
func (v *wordwise) drop() { v.pass(v.rest, "") }

func (v *wordwise) pass(text, rest string) {
	v.rest = rest
	if text != "" {
		v.turn.emit(Event{Type: v.kind, Text: v.turn.Clean(text)})
	}
}
