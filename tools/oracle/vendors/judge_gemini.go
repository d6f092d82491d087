package vendors

import (
	"context"
	"encoding/base64"
	"encoding/json"

	sdk "google.golang.org/genai"
)

func geminiClient(ctx context.Context, base string) (*sdk.Client, error) {
	return sdk.NewClient(ctx, &sdk.ClientConfig{APIKey: "key", Backend: sdk.BackendGeminiAPI, HTTPOptions: sdk.HTTPOptions{BaseURL: base}})
}

func judgeGemini(ctx context.Context, base string) Answer {
	client, err := geminiClient(ctx, base)
	if err != nil {
		return Answer{Err: err.Error()}
	}
	var a Answer
	for chunk, err := range client.Models.GenerateContentStream(ctx, "m", sdk.Text("Hi"), nil) {
		if err != nil {
			a.Err = err.Error()
			break
		}
		a.take(chunk)
	}
	return a
}

func (a *Answer) take(chunk *sdk.GenerateContentResponse) {
	if u := chunk.UsageMetadata; u != nil {
		a.Tokens = Tokens{
			Prompt: int64(u.PromptTokenCount + u.ToolUsePromptTokenCount), Cached: int64(u.CachedContentTokenCount),
			Output: int64(u.CandidatesTokenCount + u.ThoughtsTokenCount), Reasoning: int64(u.ThoughtsTokenCount), Total: int64(u.TotalTokenCount),
		}
	}
	if len(chunk.Candidates) == 0 {
		return
	}
	if reason := chunk.Candidates[0].FinishReason; reason != "" {
		a.Stop = string(reason)
	}
	if chunk.Candidates[0].Content == nil {
		return
	}
	for _, p := range chunk.Candidates[0].Content.Parts {
		if len(p.ThoughtSignature) > 0 {
			a.Kept = append(a.Kept, base64.StdEncoding.EncodeToString(p.ThoughtSignature))
		}
		switch {
		case p.FunctionCall != nil:
			args, _ := json.Marshal(p.FunctionCall.Args)
			a.Calls = append(a.Calls, Call{p.FunctionCall.ID, p.FunctionCall.Name, canonical(string(args))})
		case p.Thought:
			a.Thinking += p.Text
		default:
			a.Text += p.Text
		}
	}
}
