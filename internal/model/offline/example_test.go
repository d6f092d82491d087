package offline_test

import (
	"context"
	"fmt"

	"ramet/internal/model/llm"
	"ramet/internal/model/offline"
)

// A provider has one method. Everything comes through the iterator, failures too, and it
// ends with exactly one Finished or Failed.
func Example() {
	model, err := offline.ParseScript(`{"when": "weather", "steps": [{"text": "It "}, {"text": "rains."}]}`, nil)
	if err != nil {
		panic(err)
	}
	var provider llm.Provider = model
	r := llm.Request{Model: "any", Messages: []llm.Message{llm.Say(llm.User, "How is the weather?")}}
	for e := range provider.Stream(context.Background(), r) {
		switch e.Type {
		case llm.TextDelta:
			fmt.Printf("%s %q\n", e.Type, e.Text)
		case llm.Done:
			fmt.Printf("%s %q\n", e.Type, e.Part.Text)
		case llm.Finished, llm.Failed:
			fmt.Println(e.Type, e.Err)
		}
	}
	// Output:
	// text_delta "It "
	// text_delta "rains."
	// done "It rains."
	// finish <nil>
}
