// Mutants changes single expressions and statements of the core packages at random and counts
// how many of these changes the tests notice. A mutant that no test kills points at a rule that
// nothing checks.
//
//	go run ./mutants [-seed N] [-n 40] [-v] [PACKAGE]...
//
// A mutant is judged by the tests of its own package and then, if it survived, by the packages
// that judges.txt names for it. equivalent.txt lists mutants that cannot change the behaviour,
// with the reason; they are not counted. A mutant whose tests do not end in time is killed if the
// same tests of the unchanged package end soon; else the machine may be too busy, and the mutant is
// listed and not counted. The working tree is never changed: the mutated
// file reaches the compiler as an overlay. The exit code is 1 if fewer than 85 % are killed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// wanted is the share of mutants that the tests have to kill.
const wanted = 0.85

func main() {
	seed := flag.Uint64("seed", rand.Uint64(), "draws the same mutants again")
	count := flag.Int("n", 40, "how many mutants to try")
	verbose := flag.Bool("v", false, "print the output of the tests that killed a mutant")
	root := flag.String("root", "..", "the checkout")
	flag.Parse()
	if err := run(*root, flag.Args(), *seed, *count, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(root string, packages []string, seed uint64, count int, verbose bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	judges, err := readJudges(filepath.Join(root, "tools/mutants/judges.txt"))
	if err != nil {
		return err
	}
	equivalent, err := readEquivalents(filepath.Join(root, "tools/mutants/equivalent.txt"))
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		packages = judges.names
	}
	var all []mutant
	for _, name := range packages {
		found, err := findMutants(root, filepath.Join("internal", name))
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	fmt.Printf("seed %d: %d of %d possible mutants in %d packages\n", seed, count, len(all), len(packages))
	dice := rand.New(rand.NewPCG(seed, 1))
	dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })

	killed, survived, equal, timedOut := 0, 0, 0, 0
	for _, m := range all {
		if killed+survived == count {
			break
		}
		if reason, ok := equivalent[m.key()]; ok {
			equal++
			fmt.Printf("equivalent %s: %s\n", m, reason)
			continue
		}
		verdict, output, err := judge(root, m, judges.of[m.name()])
		if err != nil {
			return err
		}
		switch verdict {
		case invalid:
			continue
		case dead:
			killed++
			fmt.Printf("killed     %s\n", m)
			if verbose {
				fmt.Println(output)
			}
		case alive:
			survived++
			fmt.Printf("SURVIVED   %s\n", m)
		case late:
			timedOut++
			fmt.Printf("TIMED OUT  %s\n", m)
		}
	}
	share := float64(killed) / float64(max(1, killed+survived))
	fmt.Printf("%d killed, %d survived (%.0f %%; at least %.0f %% wanted), %d equivalent, %d timed out\n", killed, survived, 100*share, 100*wanted, equal, timedOut)
	if share < wanted {
		return errors.New("too many mutants survived")
	}
	return nil
}

// verdict tells what became of a mutant.
type verdict int

const (
	alive   verdict = iota // all tests passed
	dead                   // a test failed, or did not end
	late                   // the tests did not end in time, and it may be the machine's fault
	invalid                // it does not compile
)

// patience limits one run of tests: a mutant may loop forever. If the unchanged tests take no longer than
// soon right afterwards, it did.
const (
	patience = 10 * time.Minute
	soon     = patience / 3
)

// passing holds the runs of tests that passed without a mutant. Only those can kill one.
var passing = map[string]bool{}

// judge runs the tests of m's package on m, then those of its judges until one fails.
func judge(root string, m mutant, judges [][]string) (verdict, string, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return 0, "", err
	}
	defer os.RemoveAll(dir)
	file, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, m.apply(), 0o600); err != nil {
		return 0, "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): file}})
	if err != nil {
		return 0, "", err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return 0, "", err
	}
	mutated := " -overlay=" + overlay
	goTool := func(flags string, args ...string) (verdict, string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildvcs=false"+flags))
		cmd.WaitDelay = 10 * time.Second
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		_, failed := errors.AsType[*exec.ExitError](err)
		switch {
		case ctx.Err() != nil || strings.Contains(out.String(), "panic: test timed out after "):
			return late, out.String(), nil
		case failed:
			return dead, out.String(), nil
		}
		return alive, out.String(), err
	}
	pkg := "./" + filepath.ToSlash(filepath.Dir(m.file))
	if built, out, err := goTool(mutated, "build", pkg); err != nil || built != alive {
		return invalid, out, err
	}
	for _, args := range append([][]string{{pkg}}, judges...) {
		all := append([]string{"test", "-vet=off", "-failfast", "-count=1", "-timeout=" + patience.String(), "-skip=Soak$"}, args...)
		v, out, err := goTool(mutated, all...)
		if v == late {
			begun := time.Now()
			if unchanged, _, err := goTool("", all...); err == nil && unchanged == alive && time.Since(begun) < soon {
				v = dead
			}
		} else if v == dead && err == nil && !passing[root+strings.Join(all, " ")] {
			unchanged, out, err := goTool("", all...)
			if err != nil || unchanged != alive {
				return 0, "", errors.Join(err, fmt.Errorf("go %s fails without a mutant:\n%s", strings.Join(all, " "), out))
			}
			passing[root+strings.Join(all, " ")] = true
		}
		if err != nil || v != alive {
			return v, out, err
		}
	}
	return alive, "", nil
}
