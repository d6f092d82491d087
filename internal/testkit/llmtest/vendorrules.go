package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// turn is a message of a request, whatever the vendor calls its parts.
type turn struct {
	role    string // user, assistant or system
	text    string
	calls   []string
	results []string
	newest  string // its last words, where there are several
	paused  bool   // it ends with a search of the server's, which continues it
}

// CheckRequest refuses what a vendor refuses according to its documentation: parameters, the content of messages, and
// their order. It returns the newest message.
func CheckRequest(vendor string, body []byte) (newest string, err error) {
	if !json.Valid(body) {
		return "", errors.New("the body is not JSON")
	}
	if err := checkParameters(vendor, body); err != nil {
		return "", err
	}
	turns, err := readTurns(vendor, body)
	if err != nil {
		return "", err
	}
	if err := checkTurns(turns); err != nil {
		return "", err
	}
	last := turns[len(turns)-1]
	if last.newest != "" {
		return last.newest, nil
	}
	return last.text + " " + strings.Join(last.results, " "), nil
}

func readTurns(vendor string, body []byte) ([]turn, error) {
	switch vendor {
	case "anthropic":
		return anthropicHistory(body)
	case "vertex-claude":
		return vertexHistory(body)
	case "openai", "azure":
		return responsesHistory(body)
	case "gemini", "vertex":
		return geminiHistory(body)
	}
	return chatHistory(body)
}

// checkTurns demands that each call is answered at once, in order, and nothing else is.
func checkTurns(turns []turn) error {
	if len(turns) == 0 {
		return errors.New("nothing is asked")
	}
	begun := false
	var open []string
	seen := map[string]bool{}
	for i, t := range turns {
		if t.role == "system" {
			continue
		}
		if !begun && t.role != "user" {
			return errors.New("the assistant speaks first")
		}
		begun = true
		for _, r := range t.results {
			if len(open) == 0 || open[0] != r {
				return fmt.Errorf("message %d answers %s, open are %v", i, r, open)
			}
			open = open[1:]
		}
		if len(open) > 0 && (t.text != "" || len(t.calls) > 0) {
			return fmt.Errorf("message %d comes before the results of %v", i, open)
		}
		for _, c := range t.calls {
			if seen[c] || t.role != "assistant" {
				return fmt.Errorf("message %d, of %s, calls with %s, which is taken or not the model's", i, t.role, c)
			}
			seen[c] = true
			open = append(open, c)
		}
		if t.text == "" && len(t.calls)+len(t.results) == 0 && !t.paused {
			return fmt.Errorf("message %d is empty", i)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no results of %v", open)
	}
	if last := turns[len(turns)-1]; last.role == "assistant" && !last.paused {
		return errors.New("the assistant has the last word")
	}
	return nil
}

func anthropicHistory(body []byte) ([]turn, error) {
	var q struct {
		MaxTokens int64 `json:"max_tokens"`
		Messages  []struct {
			Role    string
			Content []struct {
				Type, Text, ID, Name string
				Thinking, Signature  string
				Tool                 string          `json:"tool_use_id"`
				Content              json.RawMessage `json:"content"`
				Input                map[string]any
			}
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if q.MaxTokens < 1 {
		return nil, errors.New("max_tokens is missing")
	}
	var out []turn
	for i, m := range q.Messages {
		t := turn{role: m.Role}
		if i > 0 && q.Messages[i-1].Role == m.Role {
			return nil, fmt.Errorf("%s speaks twice in a row", m.Role)
		}
		for j, c := range m.Content {
			t.paused = c.Type == "server_tool_use" || c.Type == "web_search_tool_result"
			switch c.Type {
			case "text":
				if strings.TrimSpace(c.Text) == "" {
					return nil, errors.New("text content blocks must be non-empty")
				}
				t.text, t.newest = t.text+c.Text, c.Text
			case "tool_use":
				if c.Name == "" {
					return nil, errors.New("a call without a name")
				}
				t.calls = append(t.calls, c.ID)
			case "tool_result":
				if j > 0 && m.Content[j-1].Type != "tool_result" {
					return nil, errors.New("results must come first")
				}
				t.results = append(t.results, c.Tool)
			case "thinking":
				if c.Signature == "" {
					return nil, errors.New("thinking without a signature")
				}
			}
		}
		out = append(out, t)
	}
	return out, nil
}

func responsesHistory(body []byte) ([]turn, error) {
	var q struct {
		Input []struct {
			Type, Role string
			CallID     string `json:"call_id"`
			Encrypted  string `json:"encrypted_content"`
			Content    []struct{ Text string }
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	var out []turn
	for i, item := range q.Input {
		switch item.Type {
		case "message":
			t := turn{role: item.Role}
			for _, c := range item.Content {
				t.text += c.Text
			}
			if n := len(out); n > 0 && item.Role == "assistant" && out[n-1].role == item.Role {
				out[n-1].text += t.text
				continue
			}
			out = append(out, t)
		case "function_call":
			// The items of one answer are one message.
			if n := len(out); n > 0 && out[n-1].role == "assistant" {
				out[n-1].calls = append(out[n-1].calls, item.CallID)
				continue
			}
			out = append(out, turn{role: "assistant", calls: []string{item.CallID}})
		case "function_call_output":
			out = append(out, turn{role: "user", results: []string{item.CallID}})
		case "reasoning":
			if item.Encrypted == "" || i == len(q.Input)-1 ||
				q.Input[i+1].Type != "function_call" && q.Input[i+1].Role != "assistant" && q.Input[i+1].Type != "reasoning" {
				return nil, errors.New("reasoning without its content or without the item that follows it")
			}
		}
	}
	return out, nil
}

func chatHistory(body []byte) ([]turn, error) {
	var q struct {
		Messages []struct {
			Role      string
			Content   any
			Call      string `json:"tool_call_id"`
			ToolCalls []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	var out []turn
	for _, m := range q.Messages {
		t := turn{role: m.Role}
		if m.Content != nil {
			t.text = fmt.Sprint(m.Content)
		}
		if m.Role == "tool" {
			t = turn{role: "user", results: []string{m.Call}}
		}
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) {
				return nil, errors.New("arguments that are no JSON")
			}
			t.calls = append(t.calls, c.ID)
		}
		out = append(out, t)
	}
	return out, nil
}

func geminiHistory(body []byte) ([]turn, error) {
	var q struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				ThoughtSignature string
				FunctionCall     *struct{ ID string }
				FunctionResponse *struct{ ID string }
			}
		}
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	var out []turn
	for i, m := range q.Contents {
		if i > 0 && q.Contents[i-1].Role == m.Role {
			return nil, fmt.Errorf("%s speaks twice in a row", m.Role)
		}
		t := turn{role: strings.Replace(m.Role, "model", "assistant", 1)}
		for _, p := range m.Parts {
			t.text += p.Text
			if p.FunctionCall != nil {
				if len(t.calls) == 0 && p.ThoughtSignature == "" {
					return nil, errors.New("the first call of a message has no signature")
				}
				t.calls = append(t.calls, p.FunctionCall.ID)
			}
			if p.FunctionResponse != nil {
				t.results = append(t.results, p.FunctionResponse.ID)
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// vertexHistory reads what anthropicHistory does, from a body that names its version and not the model.
func vertexHistory(body []byte) ([]turn, error) {
	var q struct {
		Model   *string
		Version string `json:"anthropic_version"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if q.Model != nil || q.Version != "vertex-2023-10-16" {
		return nil, fmt.Errorf("model %v in version %q", q.Model, q.Version)
	}
	return anthropicHistory(body)
}

// checkParameters refuses what a request may not ask for or hold, but for the order of its messages.
func checkParameters(vendor string, body []byte) error {
	var q map[string]any
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	for _, name := range toolNames(q) {
		if !callName.MatchString(name) {
			return fmt.Errorf("%q is not a name of a tool", name)
		}
	}
	switch vendor {
	case "anthropic", "vertex-claude":
		return strictAnthropic(q)
	case "openai", "azure":
		return strictResponses(q)
	case "gemini", "vertex":
		return strictGemini(vendor, q)
	}
	return strictChat(vendor, q)
}

var callName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func toolNames(q map[string]any) []string {
	var out []string
	list, _ := q["tools"].([]any)
	for _, one := range list {
		m, _ := one.(map[string]any)
		if f, ok := m["function"].(map[string]any); ok {
			m = f
		}
		if name, ok := m["name"].(string); ok {
			out = append(out, name)
		}
	}
	return out
}

func strictAnthropic(q map[string]any) error {
	marks := strings.Count(fmt.Sprint(q["system"], q["messages"], q["tools"]), "cache_control")
	if marks > 4 {
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, found %d", marks)
	}
	names := toolNames(q)
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("tools: tool names must be unique: %s", name)
		}
	}
	thinking, _ := q["thinking"].(map[string]any)
	kind, _ := thinking["type"].(string)
	if kind == "enabled" {
		budget, _ := thinking["budget_tokens"].(float64)
		most, _ := q["max_tokens"].(float64)
		if budget < 1024 || budget >= most {
			return fmt.Errorf("thinking.budget_tokens is %v of max_tokens %v", budget, most)
		}
	}
	if _, warm := q["temperature"]; warm && (kind == "enabled" || kind == "adaptive") {
		return errors.New("temperature may only be set to 1 when thinking is enabled")
	}
	if config, ok := q["output_config"].(map[string]any); ok {
		if form, ok := config["format"].(map[string]any); ok {
			if err := strictSchema(form["schema"], true, "minLength", "maxLength", "minimum", "maximum", "pattern", "oneOf", "not"); err != nil {
				return fmt.Errorf("output_config.format.schema: %w", err)
			}
		}
	}
	return blocksOfAnthropic(q, kind == "enabled")
}

// blocksOfAnthropic looks at what messages hold: ids, searches, and that an open loop
// begins with a thought where the model is made to think.
func blocksOfAnthropic(q map[string]any, made bool) error {
	messages, _ := q["messages"].([]any)
	for i, one := range messages {
		m, _ := one.(map[string]any)
		blocks, _ := m["content"].([]any)
		kinds := []string{}
		for j, b := range blocks {
			block, _ := b.(map[string]any)
			kind, _ := block["type"].(string)
			kinds = append(kinds, kind)
			id, _ := block["id"].(string)
			if kind == "tool_use" && !callName.MatchString(id) {
				return fmt.Errorf("messages.%d: tool_use.id %q: string should match pattern", i, id)
			}
			paused := i == len(messages)-1 && j == len(blocks)-1 // the server continues it
			if kind == "server_tool_use" && !paused && (j+1 == len(blocks) || blocks[j+1].(map[string]any)["tool_use_id"] != id) {
				return fmt.Errorf("messages.%d: `web_search` tool use with id %s without a corresponding result block", i, id)
			}
		}
		open := i == len(messages)-2 && slices.Contains(kinds, "tool_use")
		if made && open && kinds[0] != "thinking" && kinds[0] != "redacted_thinking" {
			return fmt.Errorf("messages.%d: expected `thinking` or `redacted_thinking`, but found `%s`", i, kinds[0])
		}
		if n := len(kinds); n > 0 && m["role"] == "assistant" && kinds[n-1] == "thinking" {
			return fmt.Errorf("messages.%d: the final block in an assistant message cannot be `thinking`", i)
		}
	}
	return nil
}

var reasons = regexp.MustCompile(`^(openai/)?(gpt-5|gpt-9|o[0-9])`)

func strictResponses(q map[string]any) error {
	model, _ := q["model"].(string)
	_, thinks := q["reasoning"]
	_, warm := q["temperature"]
	switch {
	case thinks && !reasons.MatchString(model):
		return quoteVendor("Unsupported parameter: 'reasoning.effort' is not supported with this model")
	case warm && reasons.MatchString(model):
		return quoteVendor("Unsupported parameter: 'temperature' is not supported with this model")
	case q["store"] != false:
		return errors.New("it would be stored")
	}
	if text, ok := q["text"].(map[string]any); ok {
		form, _ := text["format"].(map[string]any)
		schema, _ := form["schema"].(map[string]any)
		if schema["type"] != "object" {
			return errors.New("schema must be a JSON Schema of 'type: \"object\"'")
		}
		if form["strict"] == true {
			return strictSchema(schema, true, "minLength", "maxLength", "oneOf", "allOf", "not")
		}
	}
	return nil
}

func strictChat(vendor string, q map[string]any) error {
	model, _ := q["model"].(string)
	_, thinks := q["reasoning_effort"]
	form, _ := q["response_format"].(map[string]any)
	switch {
	case thinks && vendor == "openai-chat" && !reasons.MatchString(model):
		return quoteVendor("Unrecognized request argument supplied: reasoning_effort")
	case vendor == "deepseek" && form["type"] == "json_schema":
		return quoteVendor("This response_format type is unavailable now")
	case vendor == "deepseek" && form != nil && !strings.Contains(strings.ToLower(fmt.Sprint(q["messages"])), "json"):
		return quoteVendor("Prompt must contain the word 'json'")
	case (vendor == "ollama" || vendor == "vllm") && form != nil && q["tools"] != nil:
		return errors.New("no tool could be called within this format")
	}
	if _, asked := q["prompt_cache_key"]; asked && vendor != "openai-chat" {
		return quoteVendor("Unrecognized request argument supplied: prompt_cache_key")
	}
	return nil
}

func strictGemini(vendor string, q map[string]any) error {
	calls, _ := q["toolConfig"].(map[string]any)
	mode, _ := calls["functionCallingConfig"].(map[string]any)
	list, _ := q["tools"].([]any)
	functions, search := false, false
	for _, one := range list {
		m, _ := one.(map[string]any)
		functions, search = functions || m["functionDeclarations"] != nil, search || m["googleSearch"] != nil
	}
	config, _ := q["generationConfig"].(map[string]any)
	thinking, _ := config["thinkingConfig"].(map[string]any)
	switch {
	case functions && search && vendor == "vertex":
		return quoteVendor("Multiple tools are supported only when they are all search tools")
	case functions && search && calls["includeServerSideToolInvocations"] != true:
		return quoteVendor("Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling")
	case functions && search && (mode["mode"] == nil || mode["mode"] == "AUTO"):
		return quoteVendor("AUTO mode is not supported with built-in tools")
	case !search && calls["includeServerSideToolInvocations"] != nil:
		return errors.New("include_server_side_tool_invocations without a built-in tool")
	case config["responseJsonSchema"] != nil && config["responseMimeType"] != "application/json":
		return errors.New("response_json_schema needs a JSON mime type")
	case thinking["thinkingLevel"] != nil && thinking["thinkingBudget"] != nil:
		return errors.New("thinking_level and thinking_budget are not supported together")
	}
	return nil
}

// strictSchema refuses keywords that a vendor does not know, and objects that are open.
func strictSchema(v any, closed bool, unknown ...string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for _, key := range unknown {
		if _, there := m[key]; there {
			return fmt.Errorf("%s is not supported", key)
		}
	}
	if closed && m["type"] == "object" && m["additionalProperties"] != false {
		return errors.New("for 'object' type, 'additionalProperties' must be explicitly set to false")
	}
	for _, key := range []string{"items", "not"} {
		if err := strictSchema(m[key], closed, unknown...); err != nil {
			return err
		}
	}
	members, _ := m["properties"].(map[string]any)
	for name, one := range members {
		if err := strictSchema(one, closed, unknown...); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// quoteVendor returns an error with a message as the vendor writes it.
func quoteVendor(message string) error { return errors.New(message) }
