package session

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden texts anew")

// sets are the tools of those who are told something.
var sets = map[string]string{
	"person":  "bash read write edit glob grep fetch job plan ask fork kill send read_mail wait ps look diff merge recall",
	"worker":  "bash read write edit glob grep recall",
	"leaf":    "bash read write edit glob grep fetch job read_mail recall children",
	"speaker": "",
	"foreign": "fork kill send read_mail wait ps look",
}

// Each set of tools is told the same text as yesterday, or somebody sees the difference.
func TestWhatEachIsTold(t *testing.T) {
	for name, tools := range sets {
		got := testkit.Must(PromptFolder("").System(strings.Fields(tools)))(t)
		file := filepath.Join("testdata", name+".txt")
		if *update {
			testkit.OK(t, os.WriteFile(file, []byte(got+"\n"), 0o644))
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got+"\n" {
			t.Errorf("%s is told another text than %s (%v); -update writes it", name, file, err)
		}
		if limit := 4 << 10; len(got) > limit {
			t.Errorf("%s is told %d bytes, over %d", name, len(got), limit)
		}
	}
}

// No text names a tool in backquotes that its reader may not have.
func TestNobodyIsToldOfToolsThatHeLacks(t *testing.T) {
	for name, tools := range sets {
		got := testkit.Must(PromptFolder("").System(strings.Fields(tools)))(t)
		parts := strings.Split(got, "`")
		for i := 1; i < len(parts); i += 2 {
			if !strings.Contains(" "+tools+" ", " "+parts[i]+" ") {
				t.Errorf("%s is told of %q", name, parts[i])
			}
		}
	}
}

func TestAFileOfTheUserTakesTheirPlace(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "base.md"), []byte("Be kind.\n"), 0o600))
	got, err := PromptFolder(dir).System(nil)
	if err != nil || got != "Be kind." {
		t.Errorf("%q %v", got, err)
	}
	if _, err := PromptFolder(dir).Text("nothing"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "base.md"), make([]byte, 64<<10+1), 0o600))
	if _, err := PromptFolder(dir).System(nil); !fault.Is(err, fault.InvalidConfig) {
		t.Error(err)
	}
}
