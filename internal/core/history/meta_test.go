package history_test

import (
	"reflect"
	"testing"

	"ramet/internal/core/history"
)

// TestEveryFieldOfMetaHasANameAndMayBeLeftOut keeps the stored form small and readable by other tools.
func TestEveryFieldOfMetaHasANameAndMayBeLeftOut(t *testing.T) {
	m := reflect.TypeFor[history.Meta]()
	for i := range m.NumField() {
		f := m.Field(i)
		if name := f.Tag.Get("json"); f.Anonymous || !f.IsExported() || len(name) < len("x,omitempty") || name[len(name)-len(",omitempty"):] != ",omitempty" {
			t.Errorf("%s: %q", f.Name, name)
		}
		if k := f.Type.Kind(); k != reflect.String && k != reflect.Slice && k != reflect.Pointer {
			t.Errorf("%s: what is empty of a %s?", f.Name, k)
		}
	}
}
