package permit_test

import (
	"context"
	"encoding/json"
	"fmt"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// person is an asker who permits what shows files, once, and gives a reason for the rest.
type person struct{}

func (person) Ask(_ context.Context, q permit.Question) (permit.Verdict, error) {
	fmt.Println("asked:", q.Subject)
	v := permit.Verdict{Choice: permit.Because, Words: "not today", By: history.Actor{Who: "eve"}}
	if q.Subject == "cat notes.txt" {
		v.Choice, v.Words = permit.Once, ""
	}
	return v, nil
}

// A policy asks where no rule decides. A refusal is a fault whose words the model reads.
func ExampleAsker() {
	rules, err := permit.ParseAll("bash(ls *)")
	if err != nil {
		panic(err)
	}
	policy := &permit.Policy{Rules: rules, Ask: person{}}
	bash := tool.Spec{Name: "bash", Access: tool.Commands, Subject: func(args json.RawMessage) string {
		var line string
		json.Unmarshal(args, &line)
		return line
	}}
	for _, line := range []string{`"ls -l"`, `"cat notes.txt"`, `"make deploy"`} {
		grant, _, err := policy.Decide(context.Background(), bash, tool.Call{Name: "bash", Args: json.RawMessage(line)})
		fmt.Printf("%s: %q, refused %v\n", line, grant, fault.Is(err, fault.Denied))
	}
	// Output:
	// "ls -l": "free", refused false
	// asked: cat notes.txt
	// "cat notes.txt": "free", refused false
	// asked: make deploy
	// "make deploy": "", refused true
}
