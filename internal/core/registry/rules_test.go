package registry

import (
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

func TestForksThatCannotBeCarriedOutAreRefused(t *testing.T) {
	child := func(name string) Child { return Child{ID: id.NewAgent(), Name: name} }
	long := strings.Repeat("x", 100_000)
	verbOnly := []history.Draft{{Kind: history.Killed}}
	for name, c := range map[string]struct {
		fork Fork
		want fault.Code // empty: it is accepted
	}{
		"one child":                {Fork{Children: []Child{child("ada")}}, ""},
		"two names":                {Fork{Children: []Child{child("ada"), child("bob")}}, ""},
		"two without a name":       {Fork{Children: []Child{child(""), child("")}}, ""},
		"no children":              {Fork{}, fault.Usage},
		"two with one name":        {Fork{Children: []Child{child("ada"), child("bob"), child("ada")}}, fault.Conflict},
		"a bad name":               {Fork{Children: []Child{child("a/b")}}, fault.InvalidName},
		"a bad id":                 {Fork{Children: []Child{{ID: "no"}}}, fault.InvalidID},
		"an entry of a verb":       {Fork{Children: []Child{child("ada")}, Entries: verbOnly}, fault.InvalidKind},
		"a child's entry":          {Fork{Children: []Child{{ID: id.NewAgent(), Entries: verbOnly}}}, fault.InvalidKind},
		"a run that is too long":   {Fork{Run: long, Children: []Child{child("ada")}}, fault.InvalidText},
		"an owner too long":        {Fork{Holder: long, Children: []Child{child("ada")}}, fault.InvalidText},
		"a model that is too long": {Fork{Children: []Child{{ID: id.NewAgent(), Model: long}}}, fault.InvalidText},
		"a folder too long":        {Fork{Children: []Child{child("bob"), {ID: id.NewAgent(), Cwd: long}}}, fault.InvalidText},
	} {
		err := c.fork.Check()
		if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
