package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/jsonschema"
	"ramet/internal/model/llm"
)

// LiveSeen is the result of one trial.
type LiveSeen struct {
	Trial string
	Good  bool
	Says  string // what was seen, or what went wrong
}

// TryLive tries a model, one thing after the other. A trial that does not apply to it is
// good, and says so.
func TryLive(ctx context.Context, p llm.Provider, m llm.Model) []LiveSeen {
	t := trial{p, m}
	var out []LiveSeen
	for _, one := range []struct {
		name string
		run  func(context.Context) (string, error)
	}{{"tool loop", t.loop}, {"fork", t.fork}, {"image", t.image}, {"cancel", t.cancel}, {"cache", t.cache}, {"schema", t.schema}, {"search", t.search}} {
		says, err := one.run(ctx)
		if err != nil {
			says = strings.TrimSpace(says + " " + err.Error())
		}
		out = append(out, LiveSeen{one.name, err == nil, says})
	}
	return out
}

type trial struct {
	llm.Provider
	model llm.Model
}

// most is the limit of each answer: enough to think a little.
const most = 2000

func (t trial) ask(ctx context.Context, r llm.Request) (llm.Message, llm.Usage, llm.Finish, error) {
	r.Model, r.MaxTokens, r.CacheKey = t.model.Name, most, "ramet-live"
	if r.Effort == "" && t.model.Thinks {
		r.Effort = llm.Low
	}
	return llm.Collect(t.Stream(ctx, r))
}

var add = []llm.Tool{{Name: "add", Description: "Adds two numbers. Use it for every sum.",
	Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)}}

// called is a conversation up to the result of a call.
func (t trial) called(ctx context.Context) ([]llm.Message, error) {
	talk := []llm.Message{llm.Say(llm.System, "Use the tools that you have."), llm.Say(llm.User, "How much is 1234 plus 4321? Use add.")}
	said, _, finish, err := t.ask(ctx, llm.Request{Messages: talk, Tools: add})
	if err != nil {
		return nil, err
	}
	calls := said.Calls()
	if finish.Reason != llm.ToolCalls || len(calls) == 0 || calls[0].Name != "add" || calls[0].Malformed != "" {
		return nil, fmt.Errorf("it stopped with %s and made %d calls", finish.Raw, len(calls))
	}
	results := llm.Message{Role: llm.ToolRole}
	for _, c := range calls {
		results.Parts = append(results.Parts, llm.Result(c, "5555", false))
	}
	return append(talk, said, results), nil
}

func (t trial) loop(ctx context.Context) (string, error) {
	talk, err := t.called(ctx)
	if err != nil {
		return "", err
	}
	said, usage, _, err := t.ask(ctx, llm.Request{Messages: talk, Tools: add})
	switch {
	case err != nil:
		return "", err
	case !strings.Contains(strings.NewReplacer(",", "", " ", "", ".", "").Replace(said.Text()), "5555"):
		return "", fmt.Errorf("after the result it said %.80q", said.Text())
	}
	return fmt.Sprintf("%d tokens", usage.Total()), nil
}

// fork goes on with the same beginning in two ways.
func (t trial) fork(ctx context.Context) (string, error) {
	talk, err := t.called(ctx)
	if err != nil {
		return "", err
	}
	for _, word := range []string{"left", "right"} {
		branch := append(talk[:len(talk):len(talk)], llm.Say(llm.User, "You are the "+word+" child. Answer with the word "+word+" alone."))
		said, _, _, err := t.ask(ctx, llm.Request{Messages: branch, Tools: add})
		if err != nil {
			return "", err
		}
		if !strings.Contains(strings.ToLower(said.Text()), word) {
			return "", fmt.Errorf("the %s child said %.80q", word, said.Text())
		}
	}
	return "two children", nil
}

func (t trial) image(ctx context.Context) (string, error) {
	if !t.model.Images {
		return "it reads none", nil
	}
	square := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		square.Set(i%64, i/64, color.RGBA{R: 255, A: 255})
	}
	var file bytes.Buffer
	if err := png.Encode(&file, square); err != nil {
		return "", err
	}
	said, _, _, err := t.ask(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
		{Type: llm.Text, Text: "Which colour is this? One word."}, {Type: llm.Image, MediaType: "image/png", Data: file.Bytes()}}}}})
	if err == nil && !strings.Contains(strings.ToLower(said.Text()), "red") {
		err = fmt.Errorf("a red square is %.80q", said.Text())
	}
	return "a red square is red", err
}

// cancel breaks off in the middle of an answer.
func (t trial) cancel(ctx context.Context) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var end error
	began := time.Time{}
	r := llm.Request{Model: t.model.Name, MaxTokens: most, Messages: []llm.Message{llm.Say(llm.User, "Count from 1 to 500 in words.")}}
	for e := range t.Stream(ctx, r) {
		if e.Content() && began.IsZero() {
			began = time.Now()
			stop()
		}
		if e.Type == llm.Failed {
			end = e.Err
		}
	}
	switch {
	case began.IsZero():
		return "", fmt.Errorf("nothing came: %w", end)
	case !fault.Is(end, fault.Cancelled):
		return "", fmt.Errorf("it ended with %v", end)
	}
	return fmt.Sprintf("over in %s", time.Since(began).Round(time.Millisecond)), nil
}

// cache asks twice with the same long beginning.
func (t trial) cache(ctx context.Context) (string, error) {
	long := strings.Repeat("This sentence stands for a long description of a project. ", 900)
	var usage llm.Usage
	for i := range 3 { // some vendors need a moment to keep what they read
		talk := []llm.Message{llm.Say(llm.System, long), llm.Say(llm.User, fmt.Sprintf("Say the number %d.", i))}
		_, used, _, err := t.ask(ctx, llm.Request{Messages: talk, CacheAfter: []int{0}})
		if err != nil {
			return "", err
		}
		if usage = used; i > 0 && usage.CacheRead > 0 {
			break
		}
	}
	all := usage.Input + usage.CacheRead + usage.CacheWrite
	if usage.CacheRead == 0 {
		return "", fmt.Errorf("none of %d tokens came from a cache", all)
	}
	return fmt.Sprintf("%d of %d tokens from the cache", usage.CacheRead, all), nil
}

// schema asks for an answer in a form, while a tool could be called.
func (t trial) schema(ctx context.Context) (string, error) {
	form, err := jsonschema.Parse([]byte(`{"type":"object","properties":{"country":{"type":"string"},"capital":{"type":"string"},"letters":{"type":"integer","minimum":1}},
		"required":["country","capital","letters"],"additionalProperties":false}`))
	if err != nil {
		return "", err
	}
	said, _, _, err := t.ask(ctx, llm.Request{Tools: add, Schema: form.Text(), Messages: []llm.Message{
		llm.Say(llm.User, "Which is the capital of France, and how many letters has its name? Answer with a JSON object of country, capital and letters.")}})
	if err != nil {
		return "", err
	}
	if err := form.Check([]byte(said.Text())); err != nil {
		return "", fmt.Errorf("%.80q does not fit: %w", said.Text(), err)
	}
	return "it fits", nil
}

// search lets the vendor search the web, beside a tool where it can.
func (t trial) search(ctx context.Context) (string, error) {
	if !t.model.Search {
		return "it has none", nil
	}
	for _, one := range []struct {
		where string
		tools []llm.Tool
	}{{"beside tools", add}, {"without tools", nil}} {
		said, usage, _, err := t.ask(ctx, llm.Request{Tools: one.tools, Search: true, Messages: []llm.Message{
			llm.Say(llm.User, "Search the web: which is the newest stable release of the Go programming language?")}})
		if err != nil {
			return "", err
		}
		if n := len(said.Sources()); n > 0 {
			return fmt.Sprintf("%d sources of %d searches, %s", n, usage.Searches, one.where), nil
		}
	}
	return "", fmt.Errorf("no sources came")
}
