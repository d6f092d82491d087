package run_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// stored keeps all hashes of a tree, as tlog wants them.
type stored []tlog.Hash

func (s stored) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, n := range at {
		out[i] = s[n]
	}
	return out, nil
}

func TestTheRootIsThatOfTheChecksumDatabase(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	sizes := map[int64]bool{1000: true, 1023: true, 1024: true, 1025: true}
	for range 20 {
		sizes[random.Int64N(5000)] = true
	}
	tree := &run.Tree{}
	var all stored
	for n := int64(0); n <= 5000; n++ {
		if tree.Size() != n {
			t.Fatalf("size %d, want %d", tree.Size(), n)
		}
		if n <= 300 || sizes[n] {
			want := testkit.Must(tlog.TreeHash(n, all))(t)
			if tree.Root() != want {
				t.Fatalf("root of %d lines: %s, want %s", n, tree.Root(), want)
			}
		}
		line := fmt.Appendf(nil, "line %d", n)
		tree.Add(line)
		hashes := testkit.Must(tlog.StoredHashes(n, line, all))(t)
		all = append(all, hashes...)
	}
}

func TestATreeWithoutLinesHasTheHashOfNothing(t *testing.T) {
	if got, want := (&run.Tree{}).Root().String(), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func threeLines() *run.Tree {
	tree := &run.Tree{}
	for _, line := range []string{"a", "b", "c"} {
		tree.Add([]byte(line))
	}
	return tree
}

// sloppy sets a bit that base64 ignores: the last digit before the padding counts
// for four bits only.
func sloppy(text string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := strings.Index(text, "=") - 1
	return text[:at] + string(digits[strings.IndexByte(digits, text[at])|1]) + text[at+1:]
}

func checkpoint() run.Checkpoint {
	tree := threeLines()
	return run.Checkpoint{RunID: runtest.RunID, Size: tree.Size(), Root: tree.Root()}
}

const goldenCheckpoint = `ramet/1 run
20260115T142210Z-0a1b2c3d
3
NmQuc8JUCrEh46a/lUWwokmCzYMOsT080Z3jzmwCHsE=
`

func TestACheckpointHasItsGoldenText(t *testing.T) {
	c := checkpoint()
	if c.Text() != goldenCheckpoint {
		t.Errorf("text\n%swant\n%s", c.Text(), goldenCheckpoint)
	}
	if again, err := run.ParseCheckpoint(c.Text()); err != nil || again != c {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestOnlyWhatTextWroteIsParsed(t *testing.T) {
	good := checkpoint().Text()
	for name, bad := range map[string]string{
		"empty":            "",
		"no end":           strings.TrimSuffix(good, "\n"),
		"more":             good + "\n",
		"a line more":      good + "x\n",
		"another origin":   strings.Replace(good, "ramet/1", "ramet/2", 1),
		"another kind":     strings.Replace(good, " run", " agent", 1),
		"run with a slash": strings.Replace(good, runtest.RunID, "a/b", 1),
		"no run":           strings.Replace(good, runtest.RunID, "", 1),
		"negative size":    strings.Replace(good, "\n3\n", "\n-3\n", 1),
		"signed size":      strings.Replace(good, "\n3\n", "\n+3\n", 1),
		"size with a zero": strings.Replace(good, "\n3\n", "\n03\n", 1),
		"hash cut":         strings.Replace(good, "=", "", 1),
		"CRLF":             strings.ReplaceAll(good, "\n", "\r\n"),
		"sloppy base64":    sloppy(good),
	} {
		if bad == good {
			t.Errorf("%s: nothing was changed", name)
		}
		if c, err := run.ParseCheckpoint(bad); !fault.Is(err, fault.EventChainBroken) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(checkpoint().Text())
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := run.ParseCheckpoint(text); err == nil && c.Text() != text {
			t.Errorf("checkpoint %q was read as %q", text, c.Text())
		}
	})
}
