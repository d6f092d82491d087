//go:build extern

package llmtest

import (
	"context"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"

	"ramet/internal/model/catalog"
	"ramet/internal/model/dial"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

// obliging is a model that does what it is told, except for one thing.
type obliging struct {
	except string
	alone  bool // it searches without tools only
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
		case len(r.Schema) > 0:
			if text = `{"country":"France","capital":"Paris","letters":5}`; o.except == "schema" {
				text = `{"capital":"Paris"}`
			}
		case r.Search:
			sources := []llm.Source{{URL: "https://go.dev", Title: "Go"}}
			if o.except == "search" || o.alone && len(r.Tools) > 0 {
				sources = nil
			}
			yield(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: "1.26", Sources: sources}})
			yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: llm.Stop}})
			return
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
			yield(llm.Event{Type: llm.Done, Part: call})
		} else {
			yield(llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: text}})
		}
		yield(llm.Event{Type: llm.Used, Usage: &usage})
		yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: finish, Raw: string(finish)}})
	}
}

// The trials see what is wrong, and nothing else.
func TestTrialsCanFail(t *testing.T) {
	for _, except := range []string{"", "tool loop", "fork", "image", "cancel", "cache", "schema", "search"} {
		for _, seen := range TryLive(t.Context(), &obliging{except: except, alone: except == "fork"}, llm.Model{Name: "m", Images: true, Search: true}) {
			wrong := seen.Trial == except || except == "tool loop" && seen.Trial == "fork" // it begins with a loop
			if seen.Good == wrong {
				t.Errorf("except %q: %+v", except, seen)
			}
		}
	}
}

// TestLive asks the vendors whose keys are set. RAMET_LIVE is the file that is
// written, RAMET_LIVE_HEAD what it begins with; RAMET_LIVE_MODELS names others than
// their defaults, vendor/name with commas between them.
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
	out := ""
	for _, v := range catalog.Vendors() {
		name := chosen[v.Name]
		if name == "" {
			name = v.Table().Default
		}
		options, ok := reach(v)
		if !ok || name == "" {
			continue
		}
		p, err := dial.Model(llm.Ref{Vendor: v.Name, Name: name}, options)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		m, _ := v.Model(name)
		for _, seen := range TryLive(t.Context(), p, m) {
			word := "ok  "
			if !seen.Good {
				word = "FAIL"
				t.Errorf("%s/%s: %s: %s", v.Name, name, seen.Trial, seen.Says)
			}
			out += fmt.Sprintf("%s  %-40s %-10s %s\n", word, v.Name+"/"+name, seen.Trial, seen.Says)
		}
	}
	if out == "" { // what others saw before stays
		t.Skip("no key is set: nobody was asked (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_CLOUD_PROJECT with an account …)")
	}
	testkit.OK(t, os.WriteFile(file, []byte(os.Getenv("RAMET_LIVE_HEAD")+"\n"+out), 0o644))
	t.Log("\n" + out)
}

// reach is how a vendor is asked, as the environment says; false: it says nothing.
func reach(v catalog.Vendor) (dial.Options, bool) {
	a := dial.Access{Key: os.Getenv(v.KeyVariable()), Base: os.Getenv(v.BaseVariable())}
	ok := a.Key != "" || a.Base != ""
	var tokens *dial.GoogleSource
	switch {
	case v.BuiltIn:
		return dial.Options{}, false
	case v.Google:
		a.Project, a.Location = os.Getenv("GOOGLE_CLOUD_PROJECT"), os.Getenv("GOOGLE_CLOUD_LOCATION")
		tokens = &dial.GoogleSource{File: os.Getenv("GOOGLE_APPLICATION_CREDENTIALS"), Metadata: os.Getenv("GCE_METADATA_HOST")}
		ok = a.Project != "" && (tokens.File != "" || tokens.Metadata != "")
	case v.Framed && a.Key == "":
		a.AWS = dial.AWSCredentials{ID: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY"), Session: os.Getenv("AWS_SESSION_TOKEN")}
		a.Region = os.Getenv("AWS_REGION")
		ok = a.Base != "" && a.AWS.ID != ""
	case v.Named && a.Base == "": // a key alone does not say where
		ok = false
	}
	return dial.Options{Access: a, Tokens: tokens}, ok
}

func TestVendorsAreReachedAsTheEnvironmentSays(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "BEDROCK_API_KEY", "BEDROCK_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS",
		"GCE_METADATA_HOST", "AWS_ACCESS_KEY_ID", "AZURE_API_KEY", "AZURE_BASE_URL"} {
		t.Setenv(name, "")
	}
	reached := func(name string) bool {
		v := testkit.Must(catalog.Find(name))(t)
		_, ok := reach(v)
		return ok
	}
	for _, c := range []struct {
		vendor    string
		variables []string
	}{
		{"anthropic", []string{"ANTHROPIC_API_KEY"}}, {"azure", []string{"AZURE_API_KEY", "AZURE_BASE_URL"}},
		{"bedrock", []string{"BEDROCK_BASE_URL", "AWS_ACCESS_KEY_ID"}}, {"vertex", []string{"GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"}},
	} {
		for _, variable := range c.variables {
			if reached(c.vendor) {
				t.Errorf("%s is asked without %s", c.vendor, variable)
			}
			t.Setenv(variable, "x")
		}
		if !reached(c.vendor) {
			t.Errorf("%s is not asked", c.vendor)
		}
	}
	if reached(catalog.Offline) {
		t.Error("the built-in model is asked")
	}
}
