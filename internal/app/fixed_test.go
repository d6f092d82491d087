package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func init() {
	commands["fixed"] = fixed // fixed TEXT NAME BYTES: what stands before every conversation, in the newest request with that text
}

// fixed demands that what a request holds before its conversation, the words of the system
// and the tools, is what testdata/fixed/NAME.txt shows, and takes no more than so many
// bytes. It reads the chat protocol, which has the most brackets of all.
func fixed(ts *testscript.TestScript, _ bool, args []string) {
	s := serverOf(ts)
	s.mu.Lock()
	requests := slices.Clone(s.whole)
	s.mu.Unlock()
	slices.Reverse(requests)
	i := slices.IndexFunc(requests, func(body string) bool { return strings.Contains(body, args[0]) })
	if i < 0 {
		ts.Fatalf("no request holds %q", args[0])
	}
	var q struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []json.RawMessage
	}
	ts.Check(json.Unmarshal([]byte(requests[i]), &q))
	var shown bytes.Buffer
	size := 0
	for _, m := range q.Messages {
		var words string
		if m.Role == "system" && json.Unmarshal(m.Content, &words) == nil {
			size += len(words)
			fmt.Fprintln(&shown, words)
		}
	}
	for _, t := range q.Tools {
		size += len(t) + len(",")
		var one struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		ts.Check(json.Unmarshal(t, &one))
		fmt.Fprintf(&shown, "\n%s %s\n%s\n", one.Function.Name, one.Function.Parameters, one.Function.Description)
	}
	most, err := strconv.Atoi(args[2])
	ts.Check(err)
	if size > most {
		ts.Fatalf("%s: %d bytes stand before every conversation, over %d", args[1], size, most)
	}
	file := filepath.Join(fixedTexts, args[1]+".txt")
	if os.Getenv("RAMET_UPDATE") != "" {
		ts.Check(os.WriteFile(file, shown.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	ts.Check(err)
	if string(want) != shown.String() {
		ts.Fatalf("%s is told another text than %s shows; RAMET_UPDATE=1 writes it:\n%s", args[1], file, shown.String())
	}
}

// fixedTexts is where those texts lie; scripts run elsewhere.
var fixedTexts = func() string {
	dir, err := filepath.Abs(filepath.Join("testdata", "fixed"))
	if err != nil {
		panic(err)
	}
	return dir
}()
