package testkit_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

const (
	securityPage = "../../docs/security.md"
	attacksFile  = "../../docs/benchmarks/redteam.txt"
)

// attackRow matches a row of a table of attacks: its name, the attack, how often it was tried by each account, the effects.
var attackRow = regexp.MustCompile(`(?m)^\| ([a-z]+) \| ([^|]+) \| \d+ \| \d+ \| \d+ \|$`)

// TestEveryAttackHasARow holds the tables of attacks in docs/security.md to the tests that report attacks: each row has
// one, and each of them a row. With -update, `make redteam` writes the figures that these tests recorded.
func TestEveryAttackHasARow(t *testing.T) {
	text := testkit.Must(os.ReadFile(securityPage))(t)
	rows := map[string]bool{}
	for _, m := range attackRow.FindAllSubmatch(text, -1) {
		if rows[string(m[1])] {
			t.Errorf("docs/security.md has two rows %s", m[1])
		}
		rows[string(m[1])] = true
	}
	reported := map[string]string{}
	calls := regexp.MustCompile(`testkit\.Attack\(\w+, "([^"]+)"|(?m:^attack (\S+) )`)
	testkit.OK(t, filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") && filepath.Ext(file) != ".txtar" {
			return err
		}
		source, err := os.ReadFile(file)
		for _, m := range calls.FindAllSubmatch(source, -1) {
			reported[string(m[1])+string(m[2])] = file
		}
		return err
	}))
	for row, file := range reported {
		if !rows[row] {
			t.Errorf("%s reports attacks of %s, and no table of docs/security.md has a row of this name", file, row)
		}
	}
	for row := range rows {
		if reported[row] == "" {
			t.Errorf("docs/security.md has a row %s, and no test reports such an attack", row)
		}
	}
	if record := os.Getenv(testkit.AttackRecord); *update && record != "" {
		writeAttacks(t, text, testkit.Must(os.ReadFile(record))(t))
	}
}

// writeAttacks writes what was recorded into the tables and, by name, into docs/benchmarks. An attack that one account
// repeated counts once.
func writeAttacks(t *testing.T, page, record []byte) {
	names := map[string]map[string]string{} // by row, with the accounts that tried
	count := map[string]int{}
	seen := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(record)); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), "\t", 4)
		if len(parts) != 4 {
			t.Fatalf("%q is no attack", lines.Text())
		}
		row, account, outcome, name := parts[0], parts[1], parts[2], parts[3]
		if outcome == "EFFECT" {
			count[row+" effects"]++
			t.Errorf("%s, as %s: %s", row, account, name)
		}
		if seen[row+account+name] {
			continue
		}
		seen[row+account+name] = true
		count[row+" "+account]++
		if names[row] == nil {
			names[row] = map[string]string{}
		}
		names[row][name] += " " + account
	}
	page = attackRow.ReplaceAllFunc(page, func(line []byte) []byte {
		m := attackRow.FindSubmatch(line)
		row := string(m[1])
		if names[row] == nil {
			t.Errorf("no attack of %s was recorded", row)
		}
		return fmt.Appendf(nil, "| %s | %s | %d | %d | %d |", row, m[2], count[row+" root"], count[row+" user"], count[row+" effects"])
	})
	var all strings.Builder
	for _, row := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&all, "\n%s: %d as root, %d as an ordinary user, %d effects\n", row, count[row+" root"], count[row+" user"], count[row+" effects"])
		for _, name := range slices.Sorted(maps.Keys(names[row])) {
			accounts := strings.Fields(names[row][name])
			slices.Sort(accounts)
			fmt.Fprintf(&all, "  %-9s  %s\n", strings.Join(accounts, " "), name)
		}
	}
	testkit.OK(t, os.WriteFile(securityPage, page, 0o644))
	head := "What the tests of `make redteam` tried, by row of the tables in docs/security.md, and as which account.\n"
	testkit.OK(t, os.WriteFile(attacksFile, []byte(head+all.String()), 0o644))
}
