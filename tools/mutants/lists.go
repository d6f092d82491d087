package main

import (
	"fmt"
	"os"
	"strings"
)

// judgeList holds the packages that are mutated and the further tests that judge each.
type judgeList struct {
	names []string
	of    map[string][][]string
}

// readJudges reads a list of "PACKAGE [: GO TEST ARGUMENT...[; GO TEST ARGUMENT...]]" lines.
func readJudges(path string) (judgeList, error) {
	list := judgeList{of: map[string][][]string{}}
	err := eachLine(path, func(line string) error {
		name, rest, _ := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		list.names = append(list.names, name)
		for tests := range strings.SplitSeq(rest, ";") {
			if args := strings.Fields(tests); len(args) > 0 {
				list.of[name] = append(list.of[name], args)
			}
		}
		return nil
	})
	return list, err
}

// readEquivalents reads a list of "FILE | BEFORE | AFTER | REASON" lines into reasons by mutant.key.
func readEquivalents(path string) (map[string]string, error) {
	reasons := map[string]string{}
	err := eachLine(path, func(line string) error {
		fields := strings.Split(line, " | ")
		if len(fields) != 4 || fields[3] == "" {
			return fmt.Errorf("%s: want FILE | BEFORE | AFTER | REASON, not %q", path, line)
		}
		reasons[strings.Join(fields[:3], " | ")] = fields[3]
		return nil
	})
	return reasons, err
}

// eachLine calls f for each line of the file that is neither empty nor a comment.
func eachLine(path string, f func(string) error) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := f(line); err != nil {
			return err
		}
	}
	return nil
}
