package operation_test

import (
	"strings"
	"testing"

	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

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
