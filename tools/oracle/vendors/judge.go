package vendors

import "context"

// Judge is what the vendor's own SDK makes of what a server at base sends.
func Judge(ctx context.Context, p Protocol, base string) Answer {
	switch p {
	case Anthropic, Bedrock:
		return judgeAnthropic(ctx, p, base)
	case Responses:
		return judgeResponses(ctx, base)
	case Gemini:
		return judgeGemini(ctx, base)
	}
	return judgeChat(ctx, base)
}
