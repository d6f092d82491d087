package live

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"ramet/internal/llm"
	"ramet/internal/llm/catalog"
	"ramet/internal/llm/dial"
)

// obliging is a model that does what it is told, except for one thing.
type obliging struct {
	except string
	asked  int
}

func (o *obliging) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		o.asked++
		last := r.Messages[len(r.Messages)-1]
		text, finish, usage := "", llm.Stop, llm.Usage{Input: 10, Output: 1}
		var call *llm.Part
		switch {
		case strings.Contains(last.Text(), "Use add"):
			one := llm.NewCall("c", "add", `{"a":1,"b":2}`)
			if call, finish = &one, llm.ToolCalls; o.except == "tool loop" {
				call, finish, text = nil, llm.Stop, "5,555"
			}
		case last.Role == llm.ToolRole:
			text = "It is 5,555."
		case strings.Contains(last.Text(), "left child"):
			text = "Left"
		case strings.Contains(last.Text(), "right child"):
			if text = "right"; o.except == "fork" {
				text = "left"
			}
		case strings.Contains(last.Text(), "colour"):
			if text = "Red."; o.except == "image" {
				text = "blue"
			}
		case strings.Contains(last.Text(), "Count"):
			yield(llm.Event{Type: llm.TextDelta, Text: "one"})
			if o.except != "cancel" {
				<-ctx.Done()
				yield(llm.Fail(llm.Ended(ctx)))
				return
			}
		default:
			if text = "ok"; o.except != "cache" {
				usage.CacheRead = 9000
			}
		}
		if call != nil {
			yield(llm.Event{Type: llm.Done, Part: *call})
		} else {
			yield(llm.Event{Type: llm.Done, Part: llm.Part{Type: llm.Text, Text: text}})
		}
		yield(llm.Event{Type: llm.Used, Usage: usage})
		yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: finish, Raw: string(finish)}})
	}
}

// The trials see what is wrong, and nothing else.
func TestTrialsCanFail(t *testing.T) {
	for _, except := range []string{"", "tool loop", "fork", "image", "cancel", "cache"} {
		for _, seen := range Try(t.Context(), &obliging{except: except}, llm.Model{Name: "m", Images: true}) {
			wrong := seen.Trial == except || except == "tool loop" && seen.Trial == "fork" // it begins with a loop
			if seen.Good == wrong {
				t.Errorf("except %q: %+v", except, seen)
			}
		}
	}
}

// TestLive asks the vendors whose keys are set. RAMET_LIVE is the file that is
// written; RAMET_LIVE_MODELS names others than their defaults, vendor/name with
// commas between them.
func TestLive(t *testing.T) {
	file := os.Getenv("RAMET_LIVE")
	if file == "" {
		t.Skip("make live asks real vendors")
	}
	chosen := map[string]string{}
	for _, name := range strings.Split(os.Getenv("RAMET_LIVE_MODELS"), ",") {
		if ref, err := llm.ParseRef(name); err == nil {
			chosen[ref.Vendor] = ref.Name
		}
	}
	out := fmt.Sprintf("live trials, %s\n", time.Now().UTC().Format(time.RFC3339))
	tried := 0
	for _, v := range catalog.Vendors() {
		key, base := os.Getenv(v.KeyVariable()), os.Getenv(v.BaseVariable())
		name := chosen[v.Name]
		if name == "" {
			name = v.Table().Default
		}
		if v.BuiltIn || key == "" && (base == "" || name == "") {
			continue
		}
		p, err := dial.Model(llm.Ref{Vendor: v.Name, Name: name}, dial.Options{Access: dial.Access{Key: key, Base: base}})
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		tried++
		m, _ := v.Model(name)
		for _, seen := range Try(t.Context(), p, m) {
			word := "ok  "
			if !seen.Good {
				word = "FAIL"
				t.Errorf("%s/%s: %s: %s", v.Name, name, seen.Trial, seen.Says)
			}
			out += fmt.Sprintf("%s  %-40s %-10s %s\n", word, v.Name+"/"+name, seen.Trial, seen.Says)
		}
	}
	if tried == 0 {
		out += "no key is set: nobody was asked (ANTHROPIC_API_KEY, OPENAI_API_KEY, …)\n"
	}
	if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out)
}
