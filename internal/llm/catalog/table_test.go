package catalog

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"ramet/internal/llm"
)

var update = flag.Bool("update", false, "write table/*.json")

// The tables are what catwalk says, in our words. It is not linked: it would
// parse seven hundred kilobytes of other vendors' models at each call.
func TestTheTablesAreCatwalks(t *testing.T) {
	for _, p := range embedded.GetAll() {
		v, err := Find(strings.Replace(string(p.ID), "vertexai", "vertex", 1))
		if err != nil {
			continue
		}
		table := Table{Default: p.DefaultLargeModelID}
		for _, m := range p.Models {
			table.Models = append(table.Models, convert(m))
		}
		file := filepath.Join("table", v.Name+".json")
		want := encode(t, table)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from catwalk (%v): go test ./internal/llm/catalog -update", file, err)
		}
	}
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

func encode(t *testing.T, table Table) []byte {
	var b bytes.Buffer
	b.WriteString("{\"default\": ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	one := func(v any) {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		b.Truncate(b.Len() - 1)
	}
	one(table.Default)
	b.WriteString(",\n\"models\": [")
	for i, m := range table.Models { // one a line, so that a change is a line
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		one(m)
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}
