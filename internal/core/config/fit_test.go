package config

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	_ "ramet/internal/testkit"
)

// Workspaces that there are keep their names.
func TestNamesAreMadeFitAsEver(t *testing.T) {
	unfit := regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.StringMatching(`[ a-c.é/-]*`), func(s string) []byte { return []byte(s) })).Draw(t, "name"))
		if got, want := fitName(name), unfit.ReplaceAllString(name, "-"); got != want {
			t.Fatalf("%q: %q, not %q", name, got, want)
		}
	})
}
