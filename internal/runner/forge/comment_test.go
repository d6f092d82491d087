package forge

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// A comment is said once for a key, also where the answer was lost; other words change it, and
// those of others are left alone.
func TestACommentIsSaidOnce(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		f, _ := meet(t, s, kind)
		s.Add(testkit.ForgePull{Repo: "o/r", Head: "h", Base: "main"})
		for i := range 25 { // several pages
			s.Say("o/r", 1, fmt.Sprintf("comment %d", i))
		}
		one, err := f.Comment(t.Context(), 1, "key", "first\n")
		if err != nil || !strings.HasPrefix(one.URL, s.URL+"/o/r/pulls/1#") {
			t.Fatal(one, err)
		}
		for _, words := range []string{"first", "second"} {
			if again, err := f.Comment(t.Context(), 1, "key", words); err != nil || again != one {
				t.Error(again, err)
			}
		}
		if other, err := f.Comment(t.Context(), 1, "other key", "first"); err != nil || other == one {
			t.Error(other, err)
		}
		var lost atomic.Bool
		s.After(func() bool { return !lost.Swap(true) })
		if _, err := f.Comment(t.Context(), 1, "third key", "third"); err != nil {
			t.Error(err)
		}
		got := s.Comments()
		if len(got) != 28 || !strings.HasPrefix(got[25].Body, "second\n\n<!-- ramet ") || got[24].Body != "comment 24" {
			t.Errorf("%d comments: %+v", len(got), got[24:])
		}
		_, err = f.Comment(t.Context(), 2, "key", "words")
		refuse(t, err, fault.NotFound)
		s.Demand("another")
		_, err = f.Comment(t.Context(), 1, "key", "words")
		refuse(t, err, fault.Denied)
	})
}

// What passes is waited for; a forge that never says whether it happened leaves it unknown.
func TestACommentOfAForgeThatFails(t *testing.T) {
	each(t, func(t *testing.T, s *testkit.ForgeServer, kind string) {
		f, waits := meet(t, s, kind)
		s.Add(testkit.ForgePull{Repo: "o/r", Head: "h", Base: "main"})
		var n atomic.Int64
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if n.Add(1) > 3 {
				return false
			}
			http.Error(w, "{}", http.StatusBadGateway)
			return true
		})
		if _, err := f.Comment(t.Context(), 1, "key", "words"); err != nil || len(*waits) != 3 || len(s.Comments()) != 1 {
			t.Errorf("%v after %v, %+v", err, *waits, s.Comments())
		}
		var posted atomic.Bool
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			posted.CompareAndSwap(false, r.Method == http.MethodPost)
			if !posted.Load() {
				return false
			}
			http.Error(w, "{}", http.StatusBadGateway)
			return true
		})
		_, err := f.Comment(t.Context(), 1, "another", "words")
		refuse(t, err, fault.UnknownOutcome)
	})
}
