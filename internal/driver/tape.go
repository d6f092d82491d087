package driver

// tape keeps what a call prints as it comes: its beginning and its end.
type tape struct {
	head, tail []byte
	lost       bool
}

const (
	mostHead = 192 << 10
	mostTail = 48 << 10
)

func (t *tape) add(piece string) {
	if room := mostHead - len(t.head); room > 0 {
		room = min(room, len(piece))
		t.head, piece = append(t.head, piece[:room]...), piece[room:]
	}
	t.tail = append(t.tail, piece...)
	if len(t.tail) > 2*mostTail { // now and then, so that a flood of small pieces costs what it weighs
		t.tail, t.lost = append(t.tail[:0], t.tail[len(t.tail)-mostTail:]...), true
	}
}

func (t *tape) text() string {
	if t.lost {
		return string(t.head) + "\n[what was printed in between is left out]\n" + string(t.tail)
	}
	return string(t.head) + string(t.tail)
}
