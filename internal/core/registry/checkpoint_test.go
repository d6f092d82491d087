package registry

import (
	"reflect"
	"strings"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

func someHeads() []Head {
	return headsOf([]agent.Agent{
		{ID: "zzz", Head: 9, HeadHash: chain.Sum([]byte("z"))},
		{ID: "aaa", Head: 12, HeadHash: chain.Sum([]byte("a"))},
		{ID: "mmm", Head: 1 << 60, HeadHash: chain.Sum([]byte("m"))},
	})
}

func TestACheckpointIsReadBack(t *testing.T) {
	heads := someHeads()
	if heads[0].Agent != "aaa" || heads[2].Agent != "zzz" {
		t.Error("heads are not sorted")
	}
	text, block := FormatCheckpoint("zzz", heads)
	if lines := strings.Split(text, "\n"); lines[0] != "ramet/1 workspace" || lines[1] != "zzz" || lines[2] != "3" || len(lines) != 5 {
		t.Errorf("%q", text)
	}
	zero, back, err := ParseCheckpoint(text, block)
	if err != nil || zero != "zzz" || !reflect.DeepEqual(back, heads) {
		t.Errorf("%s %v %v", zero, back, err)
	}
	text, block = FormatCheckpoint("zzz", nil)
	if _, back, err := ParseCheckpoint(text, block); err != nil || len(back) != 0 {
		t.Error(back, err)
	}
}

func TestATamperedCheckpointIsRefused(t *testing.T) {
	text, block := FormatCheckpoint("zzz", someHeads())
	lines := strings.SplitAfter(block, "\n")
	for name, c := range map[string]struct{ text, block string }{
		"a changed head":          {text, strings.Replace(block, "aaa 12 ", "aaa 11 ", 1)},
		"a changed hash":          {text, strings.Replace(block, " ", " 0", 2)},
		"a hash that is none":     {text, "aaa 12 zz\n" + lines[1] + lines[2]},
		"a missing line":          {text, lines[1] + lines[2]},
		"the last line missing":   {text, lines[0] + lines[1]},
		"no lines":                {text, ""},
		"lines in another order":  {text, lines[1] + lines[0] + lines[2]},
		"a line twice":            {text, block + lines[2]},
		"an empty line":           {text, block + "\n"},
		"words behind a head":     {text, strings.Replace(block, "\n", " more\n", 1)},
		"more spaces":             {text, strings.Replace(block, " ", "  ", 1)},
		"another number form":     {text, strings.Replace(block, "aaa 12 ", "aaa +12 ", 1)},
		"a changed zero":          {strings.Replace(text, "zzz", "aaa", 1) + "x", block},
		"another count":           {strings.Replace(text, "\n3\n", "\n4\n", 1), block},
		"another origin":          {strings.Replace(text, "ramet/1", "ramet/2", 1), block},
		"more text":               {text + "more\n", block},
		"no text":                 {"", block},
		"only the first line":     {"ramet/1 workspace", block},
		"the last line feed gone": {text, strings.TrimSuffix(block, "\n")},
	} {
		if _, _, err := ParseCheckpoint(c.text, c.block); !fault.Is(err, fault.HistoryDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	text, block := FormatCheckpoint("zzz", someHeads())
	f.Add(text, block)
	f.Add(text, "")
	f.Add("", block)
	f.Add("ramet/1 workspace\n\n0\n\n", "a -1 \n")
	f.Fuzz(func(t *testing.T, text, block string) {
		zero, heads, err := ParseCheckpoint(text, block)
		if err != nil {
			if !fault.Is(err, fault.HistoryDamaged) {
				t.Errorf("%s", fault.CodeOf(err))
			}
			return
		}
		if text2, block2 := FormatCheckpoint(zero, heads); text2 != text || block2 != block {
			t.Errorf("%q %q reads as %q %q", text, block, text2, block2)
		}
	})
}

func TestKindsThatVerbsWriteAreNotAppended(t *testing.T) {
	name := "x"
	for _, d := range []struct {
		kind string
		name *string
	}{{"fork", nil}, {"killed", nil}, {"redact", nil}, {"mail", nil}, {"command", &name}, {"", nil}, {"bogus", nil}, {`user","x`, nil}} {
		draft := say("x")
		draft.Kind, draft.Meta.Name = history.Kind(d.kind), d.name
		if err := CheckDrafts([]history.Draft{draft}); !fault.Is(err, fault.InvalidKind) {
			t.Errorf("%q: %v", d.kind, err)
		}
	}
	f := Fork{Children: []Child{{ID: id.NewAgent(), Cwd: "/\xff"}}}
	if err := f.Check(); !fault.Is(err, fault.InvalidText) {
		t.Errorf("a folder that JSON cannot hold: %v", err)
	}
	if err := (Kill{Reason: "a\x00b"}).Check(); !fault.Is(err, fault.InvalidText) {
		t.Errorf("a reason with NUL: %v", err)
	}
}

// headsOf reads the heads off the rows of the registry.
func headsOf(agents []agent.Agent) []Head {
	heads := make([]Head, len(agents))
	for i, a := range agents {
		heads[i] = Head{a.ID, a.Head, a.HeadHash}
	}
	SortHeads(heads)
	return heads
}
