package vendors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	anthropic "github.com/anthropics/anthropic-sdk-go"
	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	gemini "google.golang.org/genai"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// Refusal is an answer that is no stream: an error as a vendor writes it.
type Refusal struct {
	Name   string
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// Refusals are those that the adapters' own tests play.
func Refusals(file string) ([]Refusal, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list map[string]Refusal
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var out []Refusal
	for name, r := range list {
		r.Name = name
		var plain string // a body that is no JSON stands there as a text
		if json.Unmarshal(r.Body, &plain) == nil {
			r.Body = []byte(plain)
		}
		out = append(out, r)
	}
	return out, nil
}

// Failure is what somebody understood of a refusal.
type Failure struct {
	Status int
	Says   string
}

func ourFailure(ctx context.Context, p Protocol, base string) Failure {
	o := wire.Options{Vendor: "vendor", Base: base, Model: known(p)}
	_, _, _, err := llm.Collect(provider(p, o).Stream(ctx, llm.Request{Model: "m", Messages: []llm.Message{llm.Say(llm.User, "Hi")}}))
	why, ok := errors.AsType[*llm.Failure](err)
	if !ok {
		return Failure{}
	}
	return Failure{why.Status, why.Says}
}

func theirFailure(ctx context.Context, p Protocol, base string) Failure {
	switch p {
	case Anthropic:
		client := anthropicClient(p, base)
		_, err := client.Messages.New(ctx, anthropic.MessageNewParams{Model: "m", MaxTokens: 1})
		if e, ok := errors.AsType[*anthropic.Error](err); ok {
			var said struct{ Error struct{ Message string } }
			json.Unmarshal([]byte(e.RawJSON()), &said)
			return Failure{e.StatusCode, said.Error.Message}
		}
	case Responses, Chat:
		client := openaiClient(base)
		_, err := client.Responses.New(ctx, responses.ResponseNewParams{Model: "m"})
		if e, ok := errors.AsType[*openai.Error](err); ok {
			return Failure{e.StatusCode, e.Message}
		}
	case Gemini:
		client, err := geminiClient(ctx, base)
		if err != nil {
			return Failure{}
		}
		_, err = client.Models.GenerateContent(ctx, "m", gemini.Text("Hi"), nil)
		if e, ok := errors.AsType[gemini.APIError](err); ok {
			return Failure{e.Code, e.Message}
		}
	}
	return Failure{}
}
