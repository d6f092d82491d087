package session

import (
	"testing"

	"ramet/internal/base/id"
)

func TestAWorktreeOutsideARepositoryFails(t *testing.T) {
	w := open(t, nil)
	if at, undo, err := w.Trees().Child(t.Context(), w.Home, id.NewAgent(), "kid"); err == nil || undo != nil {
		t.Errorf("%+v, %v", at, err)
	}
	if trees, err := w.Trees().List(t.Context()); err == nil {
		t.Errorf("%+v", trees)
	}
}
