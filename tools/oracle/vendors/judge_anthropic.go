package vendors

import (
	"context"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/bedrock"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/aws/aws-sdk-go-v2/aws"
)

func anthropicClient(p Protocol, base string) sdk.Client {
	options := []option.RequestOption{option.WithAPIKey("key"), option.WithMaxRetries(0)}
	if p == Bedrock {
		options = append(options, bedrock.WithConfig(aws.Config{Region: "us-east-1", BearerAuthTokenProvider: bedrock.NewStaticBearerTokenProvider("key")}))
	}
	return sdk.NewClient(append(options, option.WithBaseURL(base))...)
}

func judgeAnthropic(ctx context.Context, p Protocol, base string) Answer {
	client := anthropicClient(p, base)
	stream := client.Messages.NewStreaming(ctx, sdk.MessageNewParams{Model: "m", MaxTokens: 10,
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hi"))}})
	var m sdk.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			return Answer{Err: err.Error()}
		}
	}
	a := Answer{Stop: string(m.StopReason)}
	if err := stream.Err(); err != nil {
		a.Err = err.Error()
	}
	for _, b := range m.Content {
		switch v := b.AsAny().(type) {
		case sdk.TextBlock:
			a.Text += v.Text
			for _, c := range v.Citations {
				a.Pages = append(a.Pages, c.URL)
			}
		case sdk.ServerToolUseBlock:
			if input, ok := v.Input.(map[string]any); ok {
				a.Looked = append(a.Looked, fmt.Sprint(input["query"]))
			}
		case sdk.WebSearchToolResultBlock:
			for _, found := range v.Content.OfWebSearchResultBlockArray {
				a.Looked = append(a.Looked, found.EncryptedContent)
			}
		case sdk.ThinkingBlock:
			a.Thinking += v.Thinking
			if v.Signature != "" {
				a.Kept = append(a.Kept, v.Signature)
			}
		case sdk.RedactedThinkingBlock:
			a.Kept = append(a.Kept, v.Data)
		case sdk.ToolUseBlock:
			a.Calls = append(a.Calls, Call{v.ID, v.Name, canonical(string(v.Input))})
		}
	}
	u := m.Usage
	a.Tokens = Tokens{
		Prompt: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens,
		Cached: u.CacheReadInputTokens, Written: u.CacheCreationInputTokens, Output: u.OutputTokens,
	}
	return a
}
