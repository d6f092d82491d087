package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// wireFormat is how a vendor writes a stream. The shapes are those of the
// transcripts in internal/model/llm/*/testdata.
type wireFormat struct {
	header, prefix string // of the key
	path           string // of the request; * stands for the model
	signs          bool   // its thinking goes back
	searches       bool   // and so does what it looked up
	events         func(vendor string, r *reply) []string
	ending         func(r *reply) []string
}

var wireFormats = map[string]wireFormat{
	"anthropic":   {"X-Api-Key", "", "/v1/messages", true, true, anthropicEvents, anthropicEnding},
	"openai":      {"Authorization", "Bearer ", "/v1/responses", true, true, responsesEvents, responsesEnding},
	"azure":       {"Api-Key", "", "/openai/v1/responses", true, true, responsesEvents, responsesEnding},
	"openai-chat": {"Authorization", "Bearer ", "/v1/chat/completions", false, false, chatEvents, chatEnding},
	"ollama":      {"Authorization", "Bearer ", "/v1/chat/completions", false, false, chatEvents, chatEnding},
	"vllm":        {"Authorization", "Bearer ", "/v1/chat/completions", false, false, chatEvents, chatEnding},
	"groq":        {"Authorization", "Bearer ", "/v1/chat/completions", false, false, chatEvents, chatEnding},
	"xai":         {"Authorization", "Bearer ", "/v1/chat/completions", false, false, chatEvents, chatEnding},
	"deepseek":    {"Authorization", "Bearer ", "/v1/chat/completions", false, false, chatEvents, chatEnding},
	"acme":        {"Authorization", "Bearer ", "/v1/chat/completions", false, false, chatEvents, chatEnding},
	"openrouter":  {"Authorization", "Bearer ", "/v1/chat/completions", true, false, chatEvents, chatEnding},
	"gemini":      {"X-Goog-Api-Key", "", "/v1beta/models/*:streamGenerateContent", true, false, geminiEvents, geminiEnding},
	"vertex":      {"Authorization", "Bearer ", "/v1/projects/my-project/locations/europe-west4/publishers/google/models/*:streamGenerateContent", true, false, geminiEvents, geminiEnding},
	"vertex-claude": {"Authorization", "Bearer ", "/v1/projects/my-project/locations/europe-west4/publishers/anthropic/models/*:streamRawPredict", true, true,
		anthropicEvents, anthropicEnding},
}

// stream is the events of a reply.
func (f wireFormat) stream(vendor string, r *reply) []string {
	out := f.events(vendor, r)
	switch r.ending {
	case "":
		return append(out, f.ending(r)...)
	case "raw":
		return append(out, r.raw)
	}
	return out
}

func quoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// named is an event with a name; plainly one without.
func named(name, format string, args ...any) string {
	return "event: " + name + "\ndata: " + fmt.Sprintf(format, args...) + "\n\n"
}

func plainly(format string, args ...any) string {
	return "data: " + fmt.Sprintf(format, args...) + "\n\n"
}

func callsSome(r *reply) bool {
	for _, p := range r.parts {
		if p.kind == "call" {
			return true
		}
	}
	return false
}

// word is why a reply ends.
func (r *reply) word(plain, called string) string {
	switch {
	case r.stop != "":
		return r.stop
	case callsSome(r):
		return called
	}
	return plain
}

func anthropicEvents(_ string, r *reply) []string {
	out := []string{named("message_start", `{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1}}}`, r.in)}
	for i, p := range r.parts {
		begin := func(block string) {
			out = append(out, named("content_block_start", `{"type":"content_block_start","index":%d,"content_block":%s}`, i, block))
		}
		delta := func(kind, field, value string) {
			out = append(out, named("content_block_delta", `{"type":"content_block_delta","index":%d,"delta":{"type":"%s","%s":%s}}`, i, kind, field, quoted(value)))
		}
		switch p.kind {
		case "think":
			begin(`{"type":"thinking","thinking":"","signature":""}`)
			delta("thinking_delta", "thinking", p.text)
			delta("signature_delta", "signature", p.signature)
		case "say":
			begin(`{"type":"text","text":""}`)
			for _, piece := range p.pieces {
				delta("text_delta", "text", piece)
			}
			for _, page := range p.pages {
				out = append(out, named("content_block_delta", `{"type":"content_block_delta","index":%d,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":%s,"title":%s,"encrypted_index":"idx","cited_text":"…"}}}`, i, quoted(page[0]), quoted(page[1])))
			}
		case "found":
			begin(fmt.Sprintf(`{"type":"web_search_tool_result","tool_use_id":%s,"content":[{"type":"web_search_result","url":"https://example.org","title":"T","encrypted_content":"sealed"}]}`, quoted(p.id)))
		case "look":
			begin(fmt.Sprintf(`{"type":"server_tool_use","id":%s,"name":"web_search","input":{}}`, quoted(p.id)))
			delta("input_json_delta", "partial_json", `{"query":`+quoted(p.text)+"}")
		case "search": // one block for the question; the one for what was found follows
			begin(fmt.Sprintf(`{"type":"server_tool_use","id":%s,"name":"web_search","input":{}}`, quoted(p.id)))
			delta("input_json_delta", "partial_json", `{"query":`)
			delta("input_json_delta", "partial_json", quoted(p.text)+"}")
			out = append(out, named("content_block_stop", `{"type":"content_block_stop","index":%d}`, i))
			out = append(out, named("content_block_start", `{"type":"content_block_start","index":%d,"content_block":{"type":"web_search_tool_result","tool_use_id":%s,"content":[{"type":"web_search_result","url":"https://example.org","title":"T","encrypted_content":"sealed"}]}}`, 1000+i, quoted(p.id)))
			out = append(out, named("content_block_stop", `{"type":"content_block_stop","index":%d}`, 1000+i))
			continue
		case "call":
			begin(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quoted(p.id), quoted(p.name)))
			half := len(p.text) / 2
			delta("input_json_delta", "partial_json", p.text[:half])
			delta("input_json_delta", "partial_json", p.text[half:])
		}
		if i < len(r.parts)-1 || r.ending == "" || p.kind == "call" { // a call is whole even where the stream is not
			out = append(out, named("content_block_stop", `{"type":"content_block_stop","index":%d}`, i))
		}
	}
	return out
}

// writeAnthropic writes a whole reply.
func writeAnthropic(w io.Writer, r *reply) {
	for _, e := range append(anthropicEvents("", r), anthropicEnding(r)...) {
		io.WriteString(w, e)
	}
}

func anthropicEnding(r *reply) []string {
	return []string{
		named("message_delta", `{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`, quoted(r.word("end_turn", "tool_use")), r.out),
		named("message_stop", `{"type":"message_stop"}`),
	}
}

func responsesEvents(_ string, r *reply) []string {
	out := []string{named("response.created", `{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`)}
	for i, p := range r.parts {
		item := func(event, body string) {
			out = append(out, named("response.output_item."+event, `{"type":"response.output_item.%s","output_index":%d,"item":%s}`, event, i, body))
		}
		switch p.kind {
		case "think":
			item("added", fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[]}`, i))
			out = append(out, named("response.reasoning_summary_text.delta", `{"type":"response.reasoning_summary_text.delta","item_id":"rs_%d","output_index":%d,"summary_index":0,"delta":%s}`, i, i, quoted(p.text)))
			item("done", fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[{"type":"summary_text","text":%s}],"encrypted_content":%s}`, i, quoted(p.text), quoted(p.signature)))
		case "say":
			item("added", fmt.Sprintf(`{"id":"msg_%d","type":"message","content":[],"role":"assistant"}`, i))
			for _, piece := range p.pieces {
				out = append(out, named("response.output_text.delta", `{"type":"response.output_text.delta","item_id":"msg_%d","output_index":%d,"content_index":0,"delta":%s}`, i, i, quoted(piece)))
			}
			var notes []string
			for _, page := range p.pages {
				notes = append(notes, fmt.Sprintf(`{"type":"url_citation","start_index":0,"end_index":1,"url":%s,"title":%s}`, quoted(page[0]), quoted(page[1])))
			}
			item("done", fmt.Sprintf(`{"id":"msg_%d","type":"message","content":[{"type":"output_text","annotations":[%s],"text":%s}],"role":"assistant"}`, i, strings.Join(notes, ","), quoted(p.text)))
		case "search":
			item("added", fmt.Sprintf(`{"id":%s,"type":"web_search_call","status":"in_progress","action":{"type":"search"}}`, quoted(p.id)))
			item("done", fmt.Sprintf(`{"id":%s,"type":"web_search_call","status":"completed","action":{"type":"search","query":%s}}`, quoted(p.id), quoted(p.text)))
		case "call":
			item("added", fmt.Sprintf(`{"id":"fc_%d","type":"function_call","arguments":"","call_id":%s,"name":%s}`, i, quoted(p.id), quoted(p.name)))
			out = append(out, named("response.function_call_arguments.delta", `{"type":"response.function_call_arguments.delta","item_id":"fc_%d","output_index":%d,"delta":%s}`, i, i, quoted(p.text)))
			item("done", fmt.Sprintf(`{"id":"fc_%d","type":"function_call","arguments":%s,"call_id":%s,"name":%s}`, i, quoted(p.text), quoted(p.id), quoted(p.name)))
		}
	}
	return out
}

func responsesEnding(r *reply) []string {
	return []string{named("response.completed", `{"type":"response.completed","response":{"id":"resp_1","status":"completed","usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0}}}}`, r.in, r.out)}
}

func chunk(delta, finish string) string {
	return plainly(`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":%s}],"usage":null}`, delta, finish)
}

func chatEvents(vendor string, r *reply) []string {
	out := []string{chunk(`{"role":"assistant","content":""}`, "null")}
	n := 0
	for _, p := range r.parts {
		switch {
		case p.kind == "think" && vendor == "openrouter":
			out = append(out,
				chunk(fmt.Sprintf(`{"reasoning":%s,"reasoning_details":[{"type":"reasoning.text","text":%s,"index":0}]}`, quoted(p.text), quoted(p.text)), "null"),
				chunk(fmt.Sprintf(`{"reasoning_details":[{"type":"reasoning.text","signature":%s,"index":0}]}`, quoted(p.signature)), "null"))
		case p.kind == "think":
			out = append(out, chunk(fmt.Sprintf(`{"reasoning":%s}`, quoted(p.text)), "null"))
		case p.kind == "say":
			for _, piece := range p.pieces {
				out = append(out, chunk(fmt.Sprintf(`{"content":%s}`, quoted(piece)), "null"))
			}
			for _, page := range p.pages {
				out = append(out, chunk(fmt.Sprintf(`{"content":"","annotations":[{"type":"url_citation","url_citation":{"url":%s,"title":%s,"content":"…"}}]}`, quoted(page[0]), quoted(page[1])), "null"))
			}
		case p.kind == "search": // it is not told
		default:
			out = append(out, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`, n, quoted(p.id), quoted(p.name), quoted(p.text)), "null"))
			n++
		}
	}
	return out
}

func chatEnding(r *reply) []string {
	return []string{
		chunk(`{}`, quoted(r.word("stop", "tool_calls"))),
		plainly(`{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, r.in, r.out),
		plainly("[DONE]"),
	}
}

func geminiEvents(_ string, r *reply) []string {
	var out []string
	signature := ""
	for _, p := range r.parts {
		signed := ""
		if signature != "" && (p.kind == "call" || p.kind == "say" && !callsSome(r)) {
			signed, signature = `,"thoughtSignature":`+quoted(signature), ""
		}
		var part string
		switch p.kind {
		case "think":
			signature = p.signature // it comes with what was thought about
			part = fmt.Sprintf(`{"text":%s,"thought":true}`, quoted(p.text))
		case "say":
			part = fmt.Sprintf(`{"text":%s%s}`, quoted(p.text), signed)
		case "call":
			part = fmt.Sprintf(`{"functionCall":{"id":%s,"name":%s,"args":%s}%s}`, quoted(p.id), quoted(p.name), p.text, signed)
		}
		switch {
		case p.kind == "search" && callsSome(r): // told, since functions stand beside it
			part = fmt.Sprintf(`{"toolCall":{"id":%s,"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":[%s]}},"thoughtSignature":"signed"},{"toolResponse":{"id":%s,"toolType":"GOOGLE_SEARCH_WEB","response":{"search_suggestions":"<b>T</b>"}}}`, quoted(p.id), quoted(p.text), quoted(p.id))
		case p.kind == "search": // told beside the text
			continue
		}
		grounding := ""
		for _, page := range p.pages {
			grounding += fmt.Sprintf(`,{"web":{"uri":%s,"title":%s}}`, quoted(page[0]), quoted(page[1]))
		}
		if grounding != "" {
			grounding = `,"groundingMetadata":{"webSearchQueries":["asked"],"groundingChunks":[` + grounding[1:] + `]}`
		}
		out = append(out, plainly(`{"candidates":[{"content":{"parts":[%s],"role":"model"},"index":0%s}]}`, part, grounding))
	}
	return out
}

func geminiEnding(r *reply) []string {
	return []string{plainly(`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0,"finishReason":%s}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d}}`, quoted(r.word("STOP", "STOP")), r.in, r.out)}
}

// matches compares a path in which * stands for anything.
func matches(pattern, path string) bool {
	before, after, star := strings.Cut(pattern, "*")
	return !star && path == pattern || star && strings.HasPrefix(path, before) && strings.HasSuffix(path, after)
}
