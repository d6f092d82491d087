package rundir

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// Of many files that are gone the first ten are named, and the others counted.
func TestChangedFilesAreNamedUpToALimit(t *testing.T) {
	s := &Store{Root: t.TempDir()}
	testkit.OK(t, os.Mkdir(s.Dir("r"), 0o700))
	for _, c := range []struct {
		gone, named int
		more        string
	}{{1, 1, ""}, {10, 10, ""}, {11, 10, "; and 1 more"}, {13, 10, "; and 3 more"}} {
		w := &fileAudit{runID: "r", sums: map[string]string{}}
		for i := range c.gone {
			w.sums[fmt.Sprintf("f%02d", i)] = "0"
		}
		err := w.check(s, &Proof{})
		if err == nil || strings.Count(err.Error(), " is missing") != c.named || !strings.Contains(err.Error(), " is missing"+c.more+": ") {
			t.Errorf("%d gone: %v", c.gone, err)
		}
	}
}
