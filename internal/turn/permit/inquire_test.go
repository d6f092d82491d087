package permit

import (
	"strings"
	"testing"
)

func TestChosenAcceptsExactlyTheOfferedChoices(t *testing.T) {
	q := Question{Choices: []string{"red", "green", "blue"}}
	for choice, want := range map[Choice]string{"1": "red", "2": "green", "3": "blue",
		"0": "", "4": "", "-1": "", "01": "", "+1": "", "1 ": "", "": "", "red": "", Refuse: "", Because: ""} {
		if got, ok := q.Chosen(choice); got != want || ok != (want != "") {
			t.Errorf("Chosen(%q) = %q, %v; want %q", choice, got, ok, want)
		}
		if _, ok := q.Chosen(choice); (q.checkAnswer(Verdict{Choice: choice}) == nil) != (ok || choice == Refuse) {
			t.Errorf("checkAnswer(%q) = %v", choice, q.checkAnswer(Verdict{Choice: choice}))
		}
	}
	var texts []string
	for _, o := range q.answers() {
		texts = append(texts, o.Text)
	}
	if got := strings.Join(texts, "|"); !strings.HasSuffix(got, "|red|green|blue") || len(texts) != 5 {
		t.Errorf("offered: %s", got)
	}
	if err := q.checkAnswer(Verdict{Choice: Because, Words: "something else"}); err != nil {
		t.Error(err)
	}
}
