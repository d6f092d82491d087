package ndjson

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// uncovered are the values that the hash of a line leaves out, and the run's id:
// see package run. A flip there that keeps the form goes unseen here.
var uncovered = regexp.MustCompile(`"(?:parent_span_id|run_id|span_id|trace_id)":"([^"]*)"`)

// flip checks that one flipped bit is told with its line.
func flip(t *testing.T, path string, all []byte, at, bit int) {
	data := bytes.Clone(all)
	data[at] ^= 1 << bit
	testkit.OK(t, os.WriteFile(path, data, 0o644))
	line := bytes.Count(all[:at], []byte("\n")) + 1
	_, err := read(t, path)
	if !fault.Is(err, fault.EventChainBroken) || !strings.Contains(err.Error(), fmt.Sprintf(" line %d (byte ", line)) {
		t.Errorf("bit %d of byte %d (line %d, %q to %q): %v", bit, at, line, all[at], data[at], err)
	}
}

func flips(t *testing.T, events, each int) {
	all := runtest.LogLines(runtest.LogDrafts(0, events)...)
	skip := make([]bool, len(all))
	for _, m := range uncovered.FindAllSubmatchIndex(all, -1) {
		// The payload's own run_id is hashed.
		if bytes.Contains(all[m[0]:m[1]], []byte("run_id")) && all[m[1]] == '}' {
			continue
		}
		for i := m[2]; i < m[3]; i++ {
			skip[i] = true
		}
	}
	path := put(t, all)
	for n := 0; n < 8*len(all); n += each {
		if !skip[n/8] {
			flip(t, path, all, n/8, n%8)
		}
	}
}

func TestFlippedBitsAreToldWithTheirLine(t *testing.T) { flips(t, 8, 7) }

func TestEveryFlippedBitSoak(t *testing.T) {
	if soaking() {
		flips(t, 40, 1)
	} else {
		flips(t, 2, 1)
	}
}
