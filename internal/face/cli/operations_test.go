package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/core/history"
	"ramet/internal/model/offline"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
)

var update = flag.Bool("update", false, "write testdata/operations.txt anew")

// The golden file has every operation as each face offers it: a change on any face shows in a diff.
func TestOperationsAreOfferedAsTheGoldenFileTells(t *testing.T) {
	help := map[string]string{}
	for _, g := range groups(Env{}, newLine(Env{}, session.New(session.System{}, session.Choice{}))) {
		for _, c := range g.commands {
			for _, c := range append(c.Commands(), c) {
				help[c.CommandPath()] = c.Short + "\n" + c.Long + "\n" + c.UsageString()
			}
		}
	}
	var b strings.Builder
	types := &shape.Types{}
	for _, o := range operation.All() {
		d := o.Describe()
		fmt.Fprintf(&b, "==== %s: effect %d, only persons %t, tool %q\n", d.Name, d.Effect, d.Persons, d.Tool)
		if d.Faces&operation.CLI != 0 {
			b.WriteString(help[d.Name])
		}
		if d.Faces&operation.Slash != 0 {
			row, _ := operation.SlashRows().Find(cmp.Or(d.Slash, d.Name))
			fmt.Fprintf(&b, "---- terminal\n%s\n%s\n%s\n", row.Usage, row.Summary, row.Help)
		}
		for _, f := range []operation.Face{operation.HTTP, operation.MCP} {
			if d.Faces&f != 0 {
				title := map[operation.Face]string{operation.HTTP: "HTTP " + d.ID + ": " + d.Route, operation.MCP: "MCP: " + d.Model}[f]
				accepts, _ := json.MarshalIndent(operation.Shape(o, f).Schema(), "", "  ")
				answer := shape.Any()
				if o.Answer(f).Kind() == reflect.Struct {
					answer = shape.Open(types.Fields(o.Answer(f))...)
				}
				answers, _ := json.MarshalIndent(answer.Schema(), "", "  ")
				fmt.Fprintf(&b, "---- %s\naccepts %s\nanswers %s\n", title, accepts, answers)
			}
		}
	}
	schemas, _ := json.MarshalIndent(types.Schemas(), "", "  ")
	got := b.String() + "==== types\n" + string(schemas) + "\n"
	const golden = "testdata/operations.txt"
	if *update {
		os.WriteFile(golden, []byte(got), 0o644)
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != got {
		t.Errorf("%v: operations are not offered as %s tells: go test -update writes it anew, git diff shows the change", err, golden)
	}
}

// additions are the flags that commands have besides those of their operations: each makes it another verb.
var additions = []string{"fork --run", "kill --finished", "mail --delete", "ps --all-projects"}

// An operation is described once: its command is derived, and no other has its name or one of its flags by hand.
func TestNoCommandDescribesAnOperationAgain(t *testing.T) {
	root, found := Tree(), map[string]int{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			walk(below)
		}
		name := strings.TrimPrefix(c.CommandPath(), "ramet ")
		from := c.Annotations[derivedFrom]
		if found[name]++; found[name] > 1 {
			t.Errorf("there are two commands %s", name)
		}
		if operation.Named(name) != nil && from != name && operation.Named(name).Describe().Faces&operation.CLI != 0 {
			t.Errorf("the command %s is made by hand, and there is an operation of that name", name)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if _, derived := f.Value.(*words); from != "" && !derived && f.Name != "help" && !slices.Contains(additions, name+" --"+f.Name) {
				t.Errorf("the flag --%s of %s is made by hand: it is a field of the operation, or an addition", f.Name, name)
			}
		})
	}
	walk(root)
	for _, o := range operation.All() {
		if d := o.Describe(); d.Faces&operation.CLI != 0 && found[d.Name] == 0 {
			t.Errorf("the operation %s has no command", d.Name)
		}
	}
}

// A command line sees the commands that it names as they are in the whole tree, by each of their names.
func TestACommandLineHasTheWholeCommandsThatItNames(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		for i := range append(c.Aliases, c.Name()) {
			l := newLine(Env{}, session.New(session.System{}, session.Choice{}))
			l.args = append(slices.Clone(path[:max(0, len(path)-1)]), append(c.Aliases, c.Name())[i], "--json")
			own, _, err := newRoot(Env{}, l).Find(l.args)
			if err != nil || own.Use != c.Use || own.Long != c.Long || own.LocalFlags().FlagUsages() != c.LocalFlags().FlagUsages() || own.Args == nil != (c.Args == nil) {
				t.Errorf("%q is another command than in the whole tree: %v", l.args, err)
			}
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(Tree())
}

// screens are slash commands that open something of the terminal's own; the operations of their names are for other faces.
var screens = []string{"exit", "rewind", "undo", "compact", "log", "config", "skills", "export", "import"}

// A slash command of an operation's name is derived.
func TestNoSlashCommandDescribesAnOperationAgain(t *testing.T) {
	for _, row := range session.CommandTable() {
		if o := operation.Named(row.Name); o != nil && row.Usage != "" && !slices.Contains(screens, row.Name) {
			t.Errorf("/%s has its usage by hand, and there is an operation of that name", row.Name)
		}
	}
}

// In the help of a flag the words between back-quotes become the name of its value.
func TestHelpOfFlagsNamesNoCommandsAsValues(t *testing.T) {
	name := regexp.MustCompile("`[A-Z][A-Z_]*`")
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(name.ReplaceAllString(f.Usage, ""), "`") {
				t.Errorf("%s --%s: %s", c.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(Tree())
}

// The table of exit codes is a topic of its own, not a part of every command's help.
func TestExitCodesAreATopic(t *testing.T) {
	var out strings.Builder
	help := HelpCommand()
	help.SetOut(&out)
	help.SetArgs([]string{"exit-codes"})
	if err := help.Execute(); err != nil || !strings.HasPrefix(out.String(), "Exit codes: 0 ok\n    1  FAILED, ") {
		t.Errorf("%v\n%s", err, out.String())
	}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if strings.Contains(c.Long, "Exit codes:") {
			t.Errorf("%s has a table of exit codes", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(Tree())
}

// What newcomers are told to type exists: commands of the shell with their options, and those of
// the terminal.
func TestTheGuideNamesCommandsThatExist(t *testing.T) {
	root := Tree()
	for _, topic := range offline.GuideTopics() {
		lines := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(topic.Type, -1)
		if len(lines) == 0 {
			t.Errorf("%s: nothing to type", topic.Title)
		}
		for _, m := range lines {
			words := strings.Fields(m[1])
			switch {
			case words[0] == "ramet" && len(words) > 1 && words[1] != "--help":
				c, rest, err := root.Find(words[1:])
				if err != nil || c == root {
					t.Errorf("%s: no command %q", topic.Title, m[1])
					continue
				}
				for _, w := range rest {
					if w == "--" {
						break
					}
					if name, ok := strings.CutPrefix(w, "--"); ok && c.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil {
						t.Errorf("%s: %s has no %s", topic.Title, c.CommandPath(), w)
					}
				}
			case strings.HasPrefix(words[0], "/"):
				if _, ok := session.FindCommand(words[0][1:]); !ok {
					t.Errorf("%s: no command %s", topic.Title, words[0])
				}
			}
		}
	}
}

// A person at a terminal sees each word once: as it comes in, and at the end only what is missing.
func TestAnAnswerIsShownOnceAsItComesIn(t *testing.T) {
	say := func(s string) loop.Event { return loop.Event{Type: loop.TextDelta, Text: s} }
	stored := loop.Event{Type: loop.Recorded, Entry: &history.Entry{Kind: history.Assistant}}
	for _, c := range []struct {
		name, answer, want string
		events             []loop.Event
	}{
		{"whole", "hello world", "hello world\n", []loop.Event{say("hello "), say("world"), stored}},
		{"with a line at its end", "hello\n", "hello\n", []loop.Event{say("hello\n"), stored}},
		{"the end comes late", "hello world", "hello world\n", []loop.Event{say("hello ")}},
		{"after a tool", "done", "I look.\ndone\n", []loop.Event{say("I look."), stored, {Type: loop.TurnStarted}, say("done"), stored}},
		{"said again", "good", "ba\ngood\n", []loop.Event{say("ba"), {Type: loop.Retrying}, say("good"), stored}},
		{"another answer", "other", "this\nother\n", []loop.Event{say("this"), stored}},
		{"nothing came in", "other", "other\n", nil},
		{"codes are shown, not obeyed", "a\x1b[2Jb", "a␛[2Jb\n", []loop.Event{say("a\x1b"), say("[2Jb"), stored}},
	} {
		var out strings.Builder
		v := &live{out: &out}
		for _, e := range c.events {
			v.take(e)
		}
		if rest, ok := v.rest(c.answer); ok {
			out.WriteString(rest)
		} else {
			out.WriteString(c.answer)
		}
		got := strings.TrimRight(out.String(), "\n") + "\n"
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The answer stands below all that its turn did, however late the reader of the events is, and
// the tasks of children go on below it.
func TestTheAnswerStandsBelowItsTurn(t *testing.T) {
	var out bytes.Buffer // what both streams print, as on a terminal
	w := &watcher{l: &Line{Streams: Streams{Stdout: &out, Stderr: &out}}, enough: func() {}}
	var events loop.EventBus
	a := id.NewAgent()
	w.follow(t.Context(), a, &events)
	for i := range 1000 {
		events.Publish(loop.Event{Type: loop.CallStarted, Agent: a, Tool: "read", Text: fmt.Sprint("read ", i)})
	}
	events.Publish(loop.Event{Type: loop.TurnEnded, Agent: a})
	if err := w.said(loop.Outcome{Text: "the answer"}); err != nil {
		t.Error(err)
	}
	events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: "a child goes on"})
	w.end()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1002 || lines[999] != "read 999" || lines[1000] != "the answer" || lines[1001] != "a child goes on" {
		t.Errorf("%d lines, of them %q", len(lines), lines[max(len(lines)-3, 0):])
	}
}
