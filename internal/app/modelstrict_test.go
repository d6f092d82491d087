package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What the vendors' documents say is refused, besides the order of calls and results
// (acceptable): what a request asks for, and what it holds.

// strict refuses what the vendor of a server would refuse.
func (s *modelServer) strict(body []byte) error {
	var q map[string]any
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	for _, name := range toolNames(q) {
		if !callName.MatchString(name) {
			return fmt.Errorf("%q is not a name of a tool", name)
		}
	}
	switch s.name {
	case "anthropic", "vertex-claude":
		return strictAnthropic(q)
	case "openai", "azure":
		return strictResponses(q)
	case "gemini", "vertex":
		return strictGemini(s.name, q)
	}
	return strictChat(s.name, q)
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
			paused := i == len(messages)-1 && j == len(blocks)-1 // the server goes on with it
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
		return errors.New("Unsupported parameter: 'reasoning.effort' is not supported with this model")
	case warm && reasons.MatchString(model):
		return errors.New("Unsupported parameter: 'temperature' is not supported with this model")
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
		return errors.New("Unrecognized request argument supplied: reasoning_effort")
	case vendor == "deepseek" && form["type"] == "json_schema":
		return errors.New("This response_format type is unavailable now")
	case vendor == "deepseek" && form != nil && !strings.Contains(strings.ToLower(fmt.Sprint(q["messages"])), "json"):
		return errors.New("Prompt must contain the word 'json'")
	case (vendor == "ollama" || vendor == "vllm") && form != nil && q["tools"] != nil:
		return errors.New("no tool could be called within this format")
	}
	if _, asked := q["prompt_cache_key"]; asked && vendor != "openai-chat" {
		return errors.New("Unrecognized request argument supplied: prompt_cache_key")
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
		return errors.New("Multiple tools are supported only when they are all search tools")
	case functions && search && calls["includeServerSideToolInvocations"] != true:
		return errors.New("Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling")
	case functions && search && (mode["mode"] == nil || mode["mode"] == "AUTO"):
		return errors.New("AUTO mode is not supported with built-in tools")
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
