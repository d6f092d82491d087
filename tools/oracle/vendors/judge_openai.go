package vendors

import (
	"context"
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/responses"
)

func openaiClient(base string) sdk.Client {
	return sdk.NewClient(option.WithAPIKey("key"), option.WithBaseURL(base), option.WithMaxRetries(0))
}

func judgeResponses(ctx context.Context, base string) Answer {
	client := openaiClient(base)
	stream := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{Model: "m"})
	var a Answer
	var kept []string
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseOutputItemDoneEvent:
			// The vendor encrypts a thought anew for each event that it stands in. Both
			// are good; the first is the one that everybody has at hand.
			if thought, ok := e.Item.AsAny().(responses.ResponseReasoningItem); ok && thought.EncryptedContent != "" {
				kept = append(kept, thought.EncryptedContent)
			}
		case responses.ResponseCompletedEvent:
			a = ofResponse(e.Response)
		case responses.ResponseIncompleteEvent:
			a = ofResponse(e.Response)
		}
	}
	a.Kept = kept
	if err := stream.Err(); err != nil {
		a.Err = err.Error()
	}
	return a
}

func ofResponse(r responses.Response) Answer {
	a := Answer{Text: r.OutputText(), Stop: string(r.Status)}
	if r.IncompleteDetails.Reason != "" {
		a.Stop = r.IncompleteDetails.Reason
	}
	for _, item := range r.Output {
		switch v := item.AsAny().(type) {
		case responses.ResponseReasoningItem:
			for i, s := range v.Summary {
				if i > 0 {
					a.Thinking += "\n\n"
				}
				a.Thinking += s.Text
			}
		case responses.ResponseOutputMessage:
			for _, c := range v.Content {
				for _, note := range c.Annotations {
					if note.Type == "url_citation" {
						a.Pages = append(a.Pages, note.URL)
					}
				}
			}
		case responses.ResponseFunctionWebSearch:
			a.Looked = append(a.Looked, v.Action.Query)
		case responses.ResponseFunctionToolCall:
			a.Calls = append(a.Calls, Call{v.CallID, v.Name, canonical(v.Arguments)})
		}
	}
	u := r.Usage
	a.Tokens = Tokens{Prompt: u.InputTokens, Cached: u.InputTokensDetails.CachedTokens, Output: u.OutputTokens,
		Reasoning: u.OutputTokensDetails.ReasoningTokens, Total: u.TotalTokens}
	return a
}

// judgeChat joins what the SDK has no words for (thinking, which OpenAI's
// protocol does not have) from the fields that it sets aside.
func judgeChat(ctx context.Context, base string) Answer {
	client := openaiClient(base)
	stream := client.Chat.Completions.NewStreaming(ctx, sdk.ChatCompletionNewParams{Model: "m"})
	var acc sdk.ChatCompletionAccumulator
	var a Answer
	var kept []detail
	var used sdk.CompletionUsage
	for stream.Next() {
		chunk := stream.Current()
		if acc.ID != "" {
			chunk.ID = acc.ID // some servers draw one for each chunk, which the SDK would refuse
		}
		if !acc.AddChunk(chunk) {
			return Answer{Err: "the SDK refuses a chunk"}
		}
		if chunk.Usage.TotalTokens > 0 {
			used = chunk.Usage // the last counts; the SDK would add up those that send it twice
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		extra := chunk.Choices[0].Delta.JSON.ExtraFields
		a.Thinking += textOf(extra["reasoning_content"])
		if textOf(extra["reasoning_content"]) == "" {
			a.Thinking += textOf(extra["reasoning"])
		}
		var pieces []detail
		json.Unmarshal([]byte(extra["reasoning_details"].Raw()), &pieces)
		kept = append(kept, pieces...)
	}
	if err := stream.Err(); err != nil {
		a.Err = err.Error()
	}
	a.Kept = collected(kept)
	if len(acc.Choices) > 0 {
		m := acc.Choices[0].Message
		a.Text, a.Stop = m.Content+m.Refusal, acc.Choices[0].FinishReason
		for _, c := range m.ToolCalls {
			a.Calls = append(a.Calls, Call{c.ID, c.Function.Name, canonical(c.Function.Arguments)})
		}
	}
	// What was written is what the total has besides the prompt: some count
	// thinking among completion_tokens, some beside it.
	a.Tokens = Tokens{Prompt: used.PromptTokens, Cached: used.PromptTokensDetails.CachedTokens, Output: used.TotalTokens - used.PromptTokens,
		Reasoning: used.CompletionTokensDetails.ReasoningTokens, Total: used.TotalTokens}
	return a
}

func textOf(f respjson.Field) string {
	var s string
	json.Unmarshal([]byte(f.Raw()), &s)
	return s
}
