package secrets

import (
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/base/secret"
)

// BenchmarkLook gives the processor's time for a megabyte of real texts, the best of the
// rounds: of ours, which may take 5 ms, and of gitleaks.
func BenchmarkLook(b *testing.B) {
	text := strings.Join(corpus(b), "\n")
	text = text[:min(len(text), 4<<20)]
	d, ours := judgeAll(shipped(b)), secret.New(nil)
	for _, c := range []struct {
		name string
		look func(string)
	}{
		{"ours/find", func(s string) { ours.Find(s) }},
		{"ours/replace", func(s string) { ours.All(s) }},
		{"gitleaks/find", func(s string) { d.DetectString(s) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.look(text[:1000])                  // what is built at the first use
			best := time.Duration(math.MaxInt64) // on a busy machine the processor's time varies too
			for b.Loop() {
				before := used(b)
				for i := 0; i < len(text); i += 1 << 16 { // a file, an answer of a tool
					c.look(text[i:min(len(text), i+1<<16)])
				}
				best = min(best, used(b)-before)
			}
			b.ReportMetric(best.Seconds()*1e3/(float64(len(text))/1e6), "cpu-ms/MB")
		})
	}
}

// used is the processor's time that this process has taken so far.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
