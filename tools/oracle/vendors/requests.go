package vendors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	anthropic "github.com/anthropics/anthropic-sdk-go"
	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	gemini "google.golang.org/genai"
)

// Strange decodes a request of ours into the SDK's own parameters, encodes those,
// and names what did not come back as it was: fields that the vendor does not
// have, and values that it has in another form.
func Strange(p Protocol, body []byte) ([]string, error) {
	// Google's word for a call that was not signed here is bytes in the alphabet for
	// URLs, which its server reads and its SDK does not.
	body = bytes.ReplaceAll(body, []byte("skip_thought_signature_validator"), []byte("skip/thought/signature/validator"))
	again, err := again(p, body)
	if err != nil {
		return nil, err
	}
	var sent, back any
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(again, &back); err != nil {
		return nil, err
	}
	var out []string
	missing("", sent, back, &out)
	slices.Sort(out)
	return slices.Compact(out), nil
}

func again(p Protocol, body []byte) ([]byte, error) {
	switch p {
	case Anthropic, Bedrock:
		var v anthropic.MessageNewParams
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		return json.Marshal(v)
	case Responses:
		var v responses.ResponseNewParams
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		return json.Marshal(v)
	case Chat:
		var v openai.ChatCompletionNewParams
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}
	// The SDK has no type for the whole body, but one for each member.
	var v struct {
		System   *gemini.Content          `json:"systemInstruction,omitempty"`
		Contents []*gemini.Content        `json:"contents"`
		Tools    []*gemini.Tool           `json:"tools,omitempty"`
		Config   *gemini.GenerationConfig `json:"generationConfig,omitempty"`
		Calls    *gemini.ToolConfig       `json:"toolConfig,omitempty"`
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// missing walks what was sent and names the places where what came back differs.
func missing(path string, sent, back any, out *[]string) {
	switch s := sent.(type) {
	case map[string]any:
		b, ok := back.(map[string]any)
		if !ok {
			*out = append(*out, path)
			return
		}
		for name, value := range s {
			if got, ok := b[name]; ok {
				missing(path+"/"+name, value, got, out)
			} else if !empty(value) {
				*out = append(*out, path+"/"+name)
			}
		}
	case []any:
		b, ok := back.([]any)
		if !ok || len(b) != len(s) {
			*out = append(*out, path)
			return
		}
		for i := range s {
			missing(path+"/*", s[i], b[i], out)
		}
	default:
		alone := []any{map[string]any{"type": "text", "text": sent}} // a text, and a list of one
		if !reflect.DeepEqual(sent, back) && !reflect.DeepEqual(any(alone), back) {
			*out = append(*out, fmt.Sprintf("%s: %.60v became %.60v", path, sent, back))
		}
	}
}

// empty is what SDKs leave out because it says nothing.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	}
	return false
}

// Extras are fields that the SDK of a protocol does not know, and who does. A
// field of a dialect is sent to those who speak it only.
var Extras = map[Protocol]map[string]string{
	Anthropic: {"/stream": "the SDK sets it itself when it streams"},
	Responses: {"/stream": "the SDK sets it itself when it streams"},
	Chat: {
		"/stream":                             "the SDK sets it itself when it streams",
		"/messages/*/reasoning_details":       "OpenRouter and Vercel, which gave it: thinking that they want back",
		"/messages/*/reasoning_content":       "DeepSeek, vLLM, llama.cpp: thinking that they want back",
		"/messages/*/reasoning":               "OpenRouter: thinking that it wants back",
		"/usage":                              "OpenRouter: asks what the call cost",
		"/messages/*/content/*/cache_control": "OpenRouter, for Claude",
	},
}

func explained(p Protocol, path string) bool {
	place, _, _ := strings.Cut(path, ":")
	_, ok := Extras[p][place]
	return ok
}
