package catalog

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

var update = flag.Bool("update", false, "write models.json")

// The tables are what catwalk says, in our words. It is not linked: it would
// parse seven hundred kilobytes of other vendors' models at each call.
func TestTheTablesAreCatwalks(t *testing.T) {
	want := "{\"format\": 1, \"vendors\": {"
	between := "\n"
	for _, p := range embedded.GetAll() {
		v, err := Find(strings.Replace(string(p.ID), "vertexai", "vertex", 1))
		if err != nil {
			continue
		}
		want += fmt.Sprintf("%s%q: {\"default\": %q, \"models\": [", between, v.Name, p.DefaultLargeModelID)
		for i, m := range p.Models { // one a line, so that a change is a line
			if i > 0 {
				want += ","
			}
			line := testkit.Must(json.Marshal(convert(m)))(t)
			want += "\n" + string(line)
		}
		want += "\n]}"
		between = ",\n"
	}
	want += "\n}}\n"
	if *update {
		testkit.OK(t, os.WriteFile("models.json", []byte(want), 0o644))
	}
	if got, err := os.ReadFile("models.json"); err != nil || string(got) != want {
		t.Errorf("models.json differs from catwalk (%v): go test ./internal/model/catalog -update", err)
	}
	testkit.Must(ParseUpdate([]byte(want)))(t)
}

// convert puts catwalk's prices right. Its "in cached" is the price of writing
// to a cache and its "out cached" that of reading from it; but some models have
// the price of reading in both, or in the first alone. Writing never costs less
// than plain input, which tells them apart.
func convert(m catwalk.Model) llm.Model {
	pico := func(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }
	out := llm.Model{Name: m.ID, Title: m.Name, Context: m.ContextWindow, Output: m.DefaultMaxTokens,
		Thinks: m.CanReason, Efforts: m.ReasoningLevels, Images: m.SupportsImages}
	out.Price = llm.Price{Input: pico(m.CostPer1MIn), Output: pico(m.CostPer1MOut), CacheRead: pico(m.CostPer1MOutCached)}
	if in := pico(m.CostPer1MInCached); in >= out.Price.Input {
		out.Price.CacheWrite = in
	} else if out.Price.CacheRead == 0 {
		out.Price.CacheRead = in
	}
	return out
}
