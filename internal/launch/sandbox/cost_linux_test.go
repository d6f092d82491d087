package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

// BenchmarkConfinedBesideFree lets a free, a confined and an overlaid command take turns, and reports
// the medians, what the latter cost more, and the mean of the processor's time. The confined one has all of it:
// hidden paths, names that are looked after, limits, the filter.
//
//	go test -run '^$' -bench ConfinedBesideFree -benchtime 200x ./internal/launch/sandbox
func BenchmarkConfinedBesideFree(b *testing.B) {
	for _, files := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			top := b.TempDir()
			root, home := filepath.Join(top, "root"), filepath.Join(top, "home")
			for i := range files {
				dir := filepath.Join(root, fmt.Sprintf("p%d/d%d", i/1000, i/10%100))
				if i%10 == 0 {
					testkit.OK(b, os.MkdirAll(dir, 0o755))
				}
				testkit.OK(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", i)), nil, 0o644))
			}
			for _, dir := range []string{root + "/.git", root + "/.ramet/runs", home + "/.ssh"} {
				testkit.OK(b, os.MkdirAll(dir, 0o755))
			}
			box := &Box{Write: []string{root}, Hide: []string{home, root + "/.ramet/runs"}, Guard: home + "/quarantine", Guarded: []string{root}}
			overlaid := *box
			overlaid.Overlay = &Overlay{Dir: home + "/overlay"}
			took := func(box *Box) time.Duration {
				began := time.Now()
				p := testkit.Must(Start(b.Context(), Command{Args: []string{"/bin/sh", "-c", "echo x > file"}, Dir: root, Confine: box}))(b)
				if r, err := p.Wait(); err != nil || r.ExitCode != 0 {
					b.Fatal(r, err)
				}
				return time.Since(began)
			}
			took(nil)
			first := took(box)
			time.Sleep(200 * time.Millisecond) // folders that are not new
			took(box)
			took(&overlaid)
			var free, confined, over []time.Duration
			var cpu [3]time.Duration // what a busy machine disturbs less
			for b.Loop() {
				start := processor()
				free = append(free, took(nil))
				between := processor()
				confined = append(confined, took(box))
				after := processor()
				over = append(over, took(&overlaid))
				cpu[0] += between - start
				cpu[1] += after - between
				cpu[2] += processor() - after
			}
			mean := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(len(free)) }
			median := func(d []time.Duration) float64 {
				slices.Sort(d)
				return float64(d[len(d)/2].Microseconds()) / 1000
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(free), "ms-free")
			b.ReportMetric(median(confined), "ms-confined")
			b.ReportMetric(median(confined)-median(free), "ms-more")
			b.ReportMetric(median(over), "ms-overlaid")
			b.ReportMetric(median(over)-median(free), "ms-more-overlaid")
			b.ReportMetric(mean(cpu[2]), "cpu-ms-overlaid")
			b.ReportMetric(mean(cpu[0]), "cpu-ms-free")
			b.ReportMetric(mean(cpu[1]), "cpu-ms-confined")
			b.ReportMetric(float64(first.Microseconds())/1000, "ms-first")
		})
	}
}

// processor is the time that we and our ended children have used.
func processor() time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var use unix.Rusage
		if unix.Getrusage(who, &use) == nil {
			sum += time.Duration(use.Utime.Nano() + use.Stime.Nano())
		}
	}
	return sum
}
