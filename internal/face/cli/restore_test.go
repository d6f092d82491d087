package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/files"
	"ramet/internal/operation/session"
)

// About files that changed while a command was running a person is asked, unless a flag decides; where
// nobody can be asked, they are kept, and the command fails.
func TestFilesThatChangedDuringACommandAreAskedAbout(t *testing.T) {
	plan, do, all, force := FileOptions{DryRun: true}, FileOptions{}, FileOptions{Commands: true}, FileOptions{Force: true}
	for _, c := range []struct {
		name     string
		flags    []string
		terminal bool
		answer   string
		want     []FileOptions // of the calls
		code     fault.Code
	}{
		{"yes", nil, true, "y\n", []FileOptions{plan, all}, ""},
		{"no", nil, true, "n\n", []FileOptions{plan, do}, ""},
		{"no answer", nil, true, "", []FileOptions{plan, do}, ""},
		{"nobody", nil, false, "y\n", []FileOptions{do}, fault.Conflict},
		{"nobody, dry", []string{"--dry-run"}, false, "", []FileOptions{plan}, ""},
		{"commands", []string{"--commands"}, true, "", []FileOptions{all}, ""},
		{"no commands", []string{"--commands=false"}, false, "", []FileOptions{do}, ""},
		{"force", []string{"--force"}, true, "", []FileOptions{force}, ""},
	} {
		var o FileOptions
		var calls []FileOptions
		var out, said bytes.Buffer
		l := &Line{Session: &session.Session{System: session.System{Now: time.Now, Getenv: func(string) string { return "" }}}}
		l.Stdin, l.Stdout, l.Stderr = strings.NewReader(c.answer), &out, &said
		if c.terminal {
			l.Password = func(string) (string, error) { return "", nil }
		}
		cmd := &cobra.Command{}
		o.AddFlags(cmd)
		if err := cmd.ParseFlags(c.flags); err != nil {
			t.Fatal(err)
		}
		err := o.Carry(l, cmd, func(o FileOptions) (r session.Restored, err error) {
			calls = append(calls, o)
			if !o.Commands && !o.Force {
				r.Plan.Kept = []files.RestoreLeft{{Path: "notes.txt", Why: files.Running}}
			}
			return r, nil
		})
		if !slices.Equal(calls, c.want) || (err == nil) != (c.code == "") || err != nil && fault.CodeOf(err) != c.code {
			t.Errorf("%s: %+v, %v", c.name, calls, err)
		}
		if asked := strings.Contains(said.String(), "notes.txt"); asked != (len(calls) == 2) {
			t.Errorf("%s: said %q", c.name, said.String())
		}
	}
}
