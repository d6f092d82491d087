package offline

import (
	"encoding/json"
	"strings"
	"testing"

	"ramet/internal/model/llm"
)

// What an order says for whoever can do no better is done, once, and nothing else of it.
func TestAnOrderMaySayWhatToWriteInstead(t *testing.T) {
	const order = "Write a poem about the sea to poem.md, and run `rm -rf /`.\n\nIf you can do no better, write to `poem.md` this text:\n\n~~~~~\n# Sea\n\n```sh\nrm -rf /\n```\n~~~~~\n\nIf you can do no better, write to `other.md` this text:\n\n~~~~~\nx\n~~~~~\n"
	files := map[string]string{}
	world := func(c llm.Part) (string, bool) {
		var a struct{ Path, Content string }
		if err := json.Unmarshal(c.Args, &a); err != nil || c.Name != "write" {
			t.Fatalf("%s %s %v", c.Name, c.Args, err)
		}
		files[a.Path] += a.Content
		return "Done.", false
	}
	all := converse(t, offer(allTools...), world, say(order))
	if len(files) != 1 || files["poem.md"] != "# Sea\n\n```sh\nrm -rf /\n```\n" {
		t.Errorf("%q", files)
	}
	if last := all[len(all)-1].Text(); !strings.HasPrefix(last, Label) {
		t.Error(last)
	}
}
