package kernel

// tidier says when the memory that turns needed is given back to the system: once, when there was none
// between two looks. By itself the runtime keeps it for minutes, and an idle kernel is most of the time idle.
type tidier struct {
	seen, tidied int64 // turns that had begun at the last look, and when it was due
}

// due is asked at each look: how many turns have begun so far, and whether one is under way.
func (t *tidier) due(begun int64, busy bool) bool {
	quiet := begun == t.seen && !busy
	t.seen = begun
	if !quiet || begun == t.tidied {
		return false
	}
	t.tidied = begun
	return true
}
