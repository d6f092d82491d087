package history

import "testing"

// An entry that should tell a state of files and does not is damaged.
func TestAnEntryWithoutItsStateIsDamaged(t *testing.T) {
	for _, meta := range []string{"{}", "{"} {
		if s, err := newStated(Entry{Kind: Files, Meta: []byte(meta)}); err == nil {
			t.Errorf("%s tells %+v", meta, s)
		}
	}
}
