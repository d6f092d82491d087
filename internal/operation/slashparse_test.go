package operation_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

// brief is a command with only the fields that are set.
func brief(c session.Command) string {
	var all map[string]any
	b, _ := json.Marshal(c)
	if err := json.Unmarshal(b, &all); err != nil {
		panic(err)
	}
	for k, v := range all {
		if v == "" || v == nil || v == false {
			delete(all, k)
		}
	}
	b, _ = json.Marshal(all)
	return strings.ReplaceAll(string(b[1:len(b)-1]), `"`, "")
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		`/fork`:                                 "Name:fork",
		`fork`:                                  "Name:fork",
		"  /ps \n":                              "Name:ps",
		`/fork "do it"`:                         "Name:fork,Values:{prompt:do it}",
		`/fork do it, it's time`:                "Name:fork,Values:{prompt:do it, it's time}",
		"/fork two\nlines \\n":                  `Name:fork,Values:{prompt:two\nlines \\n}`,
		`/fork --worktree --clean x`:            `Name:fork,Values:{clean:true,prompt:x,worktree:true}`,
		`/fork --name ada --worktree 'a "b"'`:   `Name:fork,Values:{name:ada,prompt:a \b\,worktree:true}`,
		`/fork "first" --name=ada --at 12`:      "Name:fork,Values:{at:12,name:ada,prompt:first}",
		`/fork --model "x/y" explain --cascade`: "Name:fork,Values:{model:x/y,prompt:explain --cascade}",
		`/fork -- explain --worktree`:           "Name:fork,Values:{prompt:explain --worktree}",
		`/fork \--worktree is what`:             `Name:fork,Values:{prompt:\\--worktree is what}`,
		`/fork --agent rev x`:                   "Name:fork,Values:{prompt:x,role:rev}",
		`/kill`:                                 "Name:kill",
		`/kill --cascade ada`:                   "Name:kill,Values:{agent:ada,cascade:true}",
		`/kill ada --cascade`:                   "Name:kill,Values:{agent:ada,cascade:true}",
		`/send ada "a \"b\" \\ \n c"`:           `Name:send,Values:{text:a \b\ \\ \\n c,to:ada}`,
		`/send ada hi there`:                    "Name:send,Values:{text:hi there,to:ada}",
		`/send 0 'it is'`:                       "Name:send,Values:{text:it is,to:0}",
		`/check-mail`:                           "Name:check-mail",
		`/read-mail`:                            "Name:read-mail",
		`/read-mail 3`:                          "Name:read-mail,Values:{number:3}",
		`/filter-mail --from ada`:               "Name:filter-mail,Values:{from:ada}",
		`/delete-mail 7`:                        "Name:delete-mail,Values:{numbers:7}",
		`/mark`:                                 "Name:mark",
		`/mark "before it"`:                     "Name:mark,Values:{label:before it}",
		`/mark 12`:                              "Name:mark,Values:{label:12}",
		`/rewind`:                               "Name:rewind",
		`/rewind start`:                         "Name:rewind,Values:{label:start}",
		`/rewind 12`:                            "Name:rewind,Values:{to:12}",
		`/rewind "12"`:                          "Name:rewind,Values:{label:12}",
		`/switch ada`:                           "Name:switch,Values:{agent:ada}",
		`/rename bob`:                           "Name:rename,Values:{name:bob}",
		`/model a/b`:                            "Name:model,Values:{model:a/b}",
		`/import --all codex`:                   "Name:import,Values:{all:true,path:codex}",
		`/import s.jsonl`:                       "Name:import,Values:{path:s.jsonl}",
		`/export my\ file`:                      "Name:export,Values:{path:my file}",
		`/help /fork`:                           "Name:help,Values:{command:fork}",
		`/help fork`:                            "Name:help,Values:{command:fork}",
	} {
		c, err := operation.SlashRows().Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got := brief(c); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestParseSaysWhereAndWhatInstead(t *testing.T) {
	for in, want := range map[string]string{
		``:                               "no command at column 1: /help lists the commands",
		`/`:                              "no command at column 2: /help lists the commands",
		`  /frok`:                        `unknown command /frok, at column 3: did you mean /fork? usage: /fork [--name NAME] [--role ROLE] [--at ID] [--model MODEL] [--driver PROGRAM] [--effort EFFORT] [--worktree] [--clean] ["PROMPT"]`,
		`/xyzzy`:                         "unknown command /xyzzy, at column 1: /help lists the commands",
		`/kill --cascde`:                 "/kill, column 7: --cascde is not an option of /kill; did you mean --cascade?: usage: /kill [--cascade] [--reason REASON] [AGENT]",
		`/kill a --cascade=yes`:          "/kill, column 9: --cascade takes no value: usage: /kill [--cascade] [--reason REASON] [AGENT]",
		`/kill a b`:                      "/kill, column 9: b is one argument too many: usage: /kill [--cascade] [--reason REASON] [AGENT]",
		`/kill "a`:                       "/kill, column 7: the quote \" is not closed: usage: /kill [--cascade] [--reason REASON] [AGENT]",
		`/kill ""`:                       "/kill, column 7: the agent is empty: usage: /kill [--cascade] [--reason REASON] [AGENT]",
		`/ps x`:                          "/ps, column 5: x is one argument too many: usage: /ps [--all]",
		`/send`:                          `/send, column 6: the agent is missing: usage: /send [--from FROM] TO "TEXT"`,
		`/send é`:                        `/send, column 8: the text is missing: usage: /send [--from FROM] TO "TEXT"`,
		`/send ada " "`:                  `/send, column 11: the text is empty: usage: /send [--from FROM] TO "TEXT"`,
		`/send ada "a" b`:                `/send, column 15: b is one argument too many: usage: /send [--from FROM] TO "TEXT"`,
		`/filter-mail`:                   "/filter-mail, column 13: --from is missing: usage: /filter-mail --from AGENT",
		`/filter-mail --from`:            "/filter-mail, column 20: --from wants the agent after it: usage: /filter-mail --from AGENT",
		`/delete-mail 0`:                 "/delete-mail, column 14: 0 is not the number of a mail message: usage: /delete-mail N",
		`/rename`:                        "/rename, column 8: the name is missing: usage: /rename NAME",
		`/read-mail x`:                   "/read-mail, column 12: x is not the number of a mail message: usage: /read-mail [--peek] [N]",
		`/export a\`:                     "/export, column 10: nothing follows the backslash: usage: /export [PATH]",
		`/help fokr`:                     "/help, column 7: unknown command /fokr; did you mean /fork?: usage: /help [COMMAND]",
		"/\x1b[2J":                       "unknown command /␛[2J, at column 1: /help lists the commands",
		`/switch --model`:                "/switch, column 9: --model is not an option of /switch: usage: /switch AGENT",
		`/filter-mail --from a --from b`: "/filter-mail, column 23: --from appears twice: usage: /filter-mail --from AGENT",
	} {
		_, err := operation.SlashRows().Parse(in)
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
		}
		if !fault.Is(err, fault.Usage) {
			t.Errorf("%s: %v has no code", in, err)
		}
	}
	_, err := operation.SlashRows().Parse(`/fork fix it --worktree`)
	if err == nil || !strings.HasPrefix(err.Error(), "/fork, column 14: --worktree is in the text") {
		t.Errorf("%v", err)
	}
}

func TestTheTableIsWhole(t *testing.T) {
	for _, row := range operation.SlashRows() {
		if !strings.HasPrefix(row.Usage, "/"+row.Name) || row.Summary == "" || len(row.Summary) > 60 {
			t.Errorf("%+v", row)
		}
		text := false
		for _, a := range row.Arguments {
			if a.Flag == "" && text {
				t.Errorf("%s: text is not last", row.Name)
			}
			text = text || a.Flag == "" && a.Kind == session.Text
			if a.Flag != "" && !a.Hidden && !strings.Contains(row.Usage, a.Flag) {
				t.Errorf("%s: the usage does not have %s", row.Name, a.Flag)
			}
		}
	}
	for _, name := range strings.Fields("clear mark rewind fork kill send check-mail read-mail filter-mail delete-mail ps switch rename model compact usage verify export help exit log") {
		if _, ok := operation.SlashRows().Find(name); !ok {
			t.Errorf("no %s", name)
		}
	}
}

// The terminal's table names every operation that has a slash command, which is how its place in the help is chosen.
func TestEverySlashCommandOfAnOperationHasAPlace(t *testing.T) {
	for _, o := range operation.All() {
		if d := o.Describe(); d.Faces&operation.Slash != 0 {
			if _, ok := session.FindCommand(cmp.Or(d.Slash, d.Name)); !ok {
				t.Errorf("the table of package session has no command for %s", d.Name)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`/fork --name a "x`, `/send a \`, "/kill \xff", `/filter-mail --from="a b"`, `/export 'a'"b"\c`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, err := operation.SlashRows().Parse(line)
		if err != nil {
			if !fault.Is(err, fault.Usage) {
				t.Errorf("%q: %v", line, err)
			}
			for _, r := range err.Error() {
				if r < ' ' && utf8.ValidString(line) {
					t.Errorf("%q: the refusal holds %q", line, r)
				}
			}
		} else if _, ok := operation.SlashRows().Find(c.Name); !ok {
			t.Errorf("%q: %+v", line, c)
		}
		for i := range line {
			got := operation.SlashRows().Complete(line, i, session.CompletionSources{})
			if got.Start < 0 || got.Start > got.End || got.End > len(line) {
				t.Errorf("%q at %d: %+v", line, i, got)
			}
		}
	})
}

func list(names ...string) func() []session.CommandCandidate {
	return func() []session.CommandCandidate {
		var all []session.CommandCandidate
		for _, n := range names {
			all = append(all, session.CommandCandidate{Text: n})
		}
		return all
	}
}

// The cursor is the bar.
func TestComplete(t *testing.T) {
	sources := session.CompletionSources{
		Agents: list("0", "ada", "bob-a"),
		Labels: list("start", "two words"),
		Models: list("offline/offline"),
	}
	for _, c := range []struct{ in, want, after string }{
		{"|", "", ""},
		{"/fo|", "/fork /effort", "/fork |"},
		{"/ma|", "/mark /check-mail /read-mail /filter-mail /delete-mail", "/mark |"},
		{"/f|ork x", "/fork /filter-mail /diff /effort /config /verify", "/fork | x"},
		{"/kill |", "0 ada bob-a", "/kill 0 |"},
		{"/kill a|", "ada bob-a", "/kill ada |"},
		{"/kill -|", "--cascade --reason", "/kill --cascade |"},
		{"/kill --cascade |", "0 ada bob-a", "/kill --cascade 0 |"},
		{"/kill --cascade -|", "--reason", "/kill --cascade --reason |"},
		{"/kill ada |", "", ""},
		{"/send b|", "bob-a", "/send bob-a |"},
		{"/send bob-a |", "", ""},
		{"/send bob-a the fi|", "", ""},
		{"/fork --n|", "--name", "/fork --name |"},
		{"/fork --model o|", "offline/offline", "/fork --model offline/offline |"},
		{"/fork --name x --|", "--role --at --model --driver --effort --worktree --clean", "/fork --name x --role |"},
		{"/effort m|", "minimal medium max", "/effort minimal |"},
		{"/fork --effort x|", "xhigh max", "/fork --effort xhigh |"},
		{"/filter-mail --from |", "0 ada bob-a", "/filter-mail --from 0 |"},
		{"/rewind two|", "two words", `/rewind "two words" |`},
		{`/rewind "two w|`, "two words", `/rewind "two words" |`},
		{"/export s|", "", ""},
		{"/help re|", "rename read-mail rewind", "/help rename |"},
		{"/nonsense |", "", ""},
		{"/ps |", "", ""},
	} {
		cursor := strings.IndexByte(c.in, '|')
		line := strings.Replace(c.in, "|", "", 1)
		got := operation.SlashRows().Complete(line, cursor, sources)
		var names []string
		for _, candidate := range got.Candidates {
			names = append(names, candidate.Text)
		}
		joined := strings.Join(names, " ")
		if c.in == "|" {
			if len(names) != len(operation.SlashRows()) {
				t.Errorf("an empty line offers %s", joined)
			}
			continue
		}
		if joined != c.want {
			t.Errorf("%s offers %q, want %q", c.in, joined, c.want)
		}
		if c.after == "" || len(names) == 0 {
			continue
		}
		text := got.Insert(got.Candidates[0])
		after := line[:got.Start] + text + "|" + line[got.End:]
		if after != c.after {
			t.Errorf("%s became %s, want %s", c.in, after, c.after)
		}
	}
}

// A command that is typed whole is the first that is offered: Enter means it, not a longer one.
func TestAWholeNameComesFirst(t *testing.T) {
	for _, row := range operation.SlashRows() {
		line := "/" + row.Name
		if got := operation.SlashRows().Complete(line, len(line), session.CompletionSources{}); len(got.Candidates) == 0 || got.Candidates[0].Text != line {
			t.Errorf("%s offers %v first", line, got.Candidates)
		}
	}
}
