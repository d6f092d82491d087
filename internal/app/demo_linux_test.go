package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The tour as a person takes it: Enter between the chapters, as soon as each invites to it, an answer to
// the one question, and ramet itself at the end. Each chapter has happened before the next is told.
func TestTheTourIsTakenWithEnter(t *testing.T) {
	t.Parallel()
	throwaway := t.TempDir()
	w := newWorld(t, "TMPDIR="+throwaway)
	began := time.Now()
	x := w.open(120, 40, "demo")
	told := 0 // of what was written
	hear := func(parts ...string) {
		t.Helper()
		x.until(strings.Join(parts, ", then "), func(string) bool {
			x.mu.Lock()
			defer x.mu.Unlock()
			at := told
			for _, part := range parts {
				i := strings.Index(x.raw.String()[at:], part)
				if i < 0 {
					return false
				}
				at += i + len(part)
			}
			told = at
			return true
		})
	}
	for _, chapter := range [][]string{
		{"Think: ", "$ ramet exec", "to motto.txt", "5 motto.txt", "$ ramet ps", "done"},
		{"Question: ", "rm draft.txt", "permit it? once"},
		{"Survive: ", "Killed", "The command died with it.", "$ ramet ps", "interrupted", "a ramet shares its roots"},
		{"Fork: ", "--name ada", "--name bob", "$ ramet ps", "ada-tests", "Try the LRU."},
		{"Mail: ", "LRU wins", "unread  ada"},
		{"Crash: 24 times", "They printed the ids of ", "all of them are there", "step "},
		{"Kill: ", "$ ramet kill ada --cascade", "$ ramet ps --all", "killed"},
		{"Prove: ", "$ ramet verify", "ok: ", "error[HISTORY_DAMAGED]"},
		{"Page: ", "$ ramet web", "http://127.0.0.1:", "/p/", "/login?code=", "Open it, if you like; "},
	} {
		hear(chapter...)
		if strings.HasPrefix(chapter[0], "Question") {
			if _, err := os.Stat(filepath.Join(one(t, throwaway), "draft.txt")); err != nil {
				t.Errorf("it was done before it was permitted: %v", err)
			}
			x.press("once", enter)
			hear("Ran `rm draft.txt`")
		}
		hear("Enter continues")
		x.press(enter)
	}
	hear("Home: ", "Enter opens it")
	x.press(enter)
	x.see("4 agents", "bob", "Enter open", "k kill", "d diff")
	t.Logf("the tour took %.1f s up to Home", time.Since(began).Seconds())
	x.press(ctrlC)
	x.see("Ctrl+C again")
	x.press(ctrlC)
	hear("That was a throw-away workspace", "Yours begins with `ramet`")
	if code := x.ends(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	x.restored()
	if left, err := os.ReadDir(throwaway); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// one is the only thing in a folder.
func one(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return filepath.Join(dir, all[0].Name())
}
