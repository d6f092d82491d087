package app_test

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// acpAgent is a program that speaks the Agent Client Protocol as its prompts tell it, well and
// badly. It is written without the SDK that ramet uses: it judges what ramet sends by the
// protocol alone. Sessions live in files, as those of real programs do.
//
//	ACPAGENT_CAN    what it advertises: resume load fork image
//	ACPAGENT_AUTH   it wants a login
//	ACPAGENT_STATE  the folder of its sessions
//	ANTHROPIC_BASE_URL, FAKE_LOGIN  where its model is, and with what it logs in there
func acpAgent() {
	a := &acpProgram{out: bufio.NewWriter(os.Stdout), asked: map[int]chan json.RawMessage{}, cancelled: make(chan struct{}), mode: "wild", chosen: "small"}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var m acpMessage
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintf(os.Stderr, "not a message: %s", line)
			os.Exit(2)
		}
		switch {
		case m.Method == "":
			a.answered(m)
		case m.Method == "session/cancel":
			a.cancel()
		default:
			go a.do(m)
		}
	}
}

type acpMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

type acpProgram struct {
	mu        sync.Mutex
	out       *bufio.Writer
	number    int
	asked     map[int]chan json.RawMessage
	cancelled chan struct{}
	session   string
	mode      string
	chosen    string
	effort    string // empty: low
	tools     string // where ramet's own are, as it was told
	told      struct{ in, out int64 }
}

func (a *acpProgram) can(what string) bool {
	return strings.Contains(" "+os.Getenv("ACPAGENT_CAN")+" ", " "+what+" ")
}

func (a *acpProgram) print(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.out.WriteString(line + "\n")
	a.out.Flush()
}

func (a *acpProgram) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	a.print(string(b))
}

func (a *acpProgram) cancel() {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.cancelled:
	default:
		close(a.cancelled)
	}
}

func (a *acpProgram) answered(m acpMessage) {
	var n int
	json.Unmarshal(m.ID, &n)
	a.mu.Lock()
	c := a.asked[n]
	a.mu.Unlock()
	if c != nil {
		c <- m.Result
	}
}

// ask asks ramet something.
func (a *acpProgram) ask(method string, params any) json.RawMessage {
	a.mu.Lock()
	a.number++
	n := a.number
	c := make(chan json.RawMessage, 1)
	a.asked[n] = c
	a.mu.Unlock()
	a.send(map[string]any{"jsonrpc": "2.0", "id": n, "method": method, "params": params})
	return <-c
}

func (a *acpProgram) update(u map[string]any) {
	a.send(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": a.session, "update": u}})
}

func (a *acpProgram) say(kind, text string) {
	a.update(map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}})
}

func (a *acpProgram) do(m acpMessage) {
	reply := func(result any) { a.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}) }
	refuse := func(code int, text string) {
		a.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": code, "message": text}})
	}
	var p struct {
		SessionID string `json:"sessionId"`
		Cwd       string `json:"cwd"`
		ModeID    string `json:"modeId"`
		ModelID   string `json:"modelId"`
		ConfigID  string `json:"configId"`
		Value     string
		Prompt    []struct{ Type, Text string }
		Servers   []struct{ Type, Name, URL string } `json:"mcpServers"`
		Meta      json.RawMessage                    `json:"_meta"`
	}
	json.Unmarshal(m.Params, &p)
	for _, s := range p.Servers {
		if s.Type == "http" && s.Name == "ramet" {
			a.tools = s.URL
		}
	}
	switch m.Method {
	case "initialize":
		here, _ := os.Getwd()
		obey(here, "", ".opencode/plugin/*")
		sessions := map[string]any{}
		for _, what := range []string{"resume", "fork"} {
			if a.can(what) {
				sessions[what] = map[string]any{}
			}
		}
		reply(map[string]any{"protocolVersion": 1, "agentInfo": map[string]any{"name": "acpagent", "version": "1.2.3"}, "authMethods": []any{},
			"agentCapabilities": map[string]any{"loadSession": a.can("load"), "sessionCapabilities": sessions, "promptCapabilities": map[string]any{"image": a.can("image")},
				"mcpCapabilities": map[string]any{"http": a.can("http")}}})
	case "session/new":
		obey(p.Cwd, string(p.Meta), obeyedFiles...)
		if os.Getenv("ACPAGENT_AUTH") != "" {
			refuse(-32000, "Authentication required")
			return
		}
		a.session = fmt.Sprintf("s%d-%d", os.Getpid(), time.Now().UnixNano())
		reply(map[string]any{"sessionId": a.session, "modes": map[string]any{"currentModeId": "wild", "availableModes": []any{
			map[string]any{"id": "wild", "name": "Wild"}, map[string]any{"id": "careful", "name": "Careful"}, map[string]any{"id": "ask", "name": "Ask", "description": "It asks"}}},
			"models":        map[string]any{"currentModelId": "small", "availableModels": []any{map[string]any{"modelId": "small", "name": "Small"}, map[string]any{"modelId": "big", "name": "Big one"}}},
			"configOptions": a.options()})
		a.update(map[string]any{"sessionUpdate": "available_commands_update", "availableCommands": []any{
			map[string]any{"name": "zap", "description": "Zaps it", "input": map[string]any{"hint": "what"}}, map[string]any{"name": "compact", "description": "Its own"}}})
	case "session/resume", "session/load":
		if len(a.heard(p.SessionID)) == 0 {
			refuse(-32602, "no such session")
			return
		}
		if a.session = p.SessionID; m.Method == "session/load" {
			for _, text := range a.heard(a.session) {
				a.say("user_message_chunk", text)
				a.say("agent_message_chunk", "this is the past")
			}
		}
		reply(map[string]any{"configOptions": a.options()})
	case "session/fork":
		old := a.heard(p.SessionID)
		if len(old) == 0 {
			refuse(-32602, "no such session")
			return
		}
		a.session = p.SessionID + "-fork" + fmt.Sprint(os.Getpid())
		a.keep(append(old, "(forked)")...)
		reply(map[string]any{"sessionId": a.session})
	case "session/set_mode":
		a.mode = p.ModeID
		reply(map[string]any{})
	case "session/set_model":
		if a.chosen = p.ModelID; a.chosen != "big" && a.chosen != "small" {
			refuse(-32602, "no such model")
			return
		}
		reply(map[string]any{})
	case "session/set_config_option":
		if p.ConfigID != "thinking" || p.Value != "low" && p.Value != "high" {
			refuse(-32602, "no such option")
			return
		}
		a.effort = p.Value
		reply(map[string]any{"configOptions": a.options()})
	case "session/prompt":
		var words []string
		for _, part := range p.Prompt {
			words = append(words, part.Text)
		}
		text := strings.Join(words, "\n")
		a.keep(append(a.heard(a.session), text)...)
		a.told.in, a.told.out = 0, 0
		stop := a.turn(text)
		if why, failed := strings.CutPrefix(stop, "failed: "); failed {
			a.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32603, "message": why, "data": map[string]any{"url": why}}})
			return
		}
		usage := map[string]any{"inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "cachedReadTokens": 5}
		if a.told.in > 0 {
			usage = map[string]any{"inputTokens": a.told.in, "outputTokens": a.told.out, "totalTokens": a.told.in + a.told.out}
		}
		reply(map[string]any{"stopReason": stop, "usage": usage})
	default:
		refuse(-32601, "method not found")
	}
}

func (a *acpProgram) file(session string) string {
	return filepath.Join(os.Getenv("ACPAGENT_STATE"), filepath.Base(session)+".json")
}

func (a *acpProgram) heard(session string) (out []string) {
	b, _ := os.ReadFile(a.file(session))
	json.Unmarshal(b, &out)
	return out
}

func (a *acpProgram) keep(all ...string) {
	b, _ := json.Marshal(all)
	if err := os.WriteFile(a.file(a.session), b, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// call makes a tool call; if it is permitted, do gives its result.
func (a *acpProgram) call(id, kind, title string, input map[string]any, ask bool, do func() (string, bool)) bool {
	a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": "pending", "rawInput": map[string]any{}})
	if ask {
		var answer struct {
			Outcome struct{ Outcome, OptionID string }
		}
		raw := a.ask("session/request_permission", map[string]any{"sessionId": a.session,
			"toolCall": map[string]any{"toolCallId": id, "title": title, "kind": kind, "rawInput": input},
			"options": []any{map[string]any{"optionId": "always", "name": "Always", "kind": "allow_always"}, map[string]any{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
				map[string]any{"optionId": "no", "name": "No", "kind": "reject_once"}}})
		json.Unmarshal(raw, &answer)
		if answer.Outcome.OptionID != "yes" {
			a.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed",
				"content": []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": "not permitted: " + answer.Outcome.Outcome + " " + answer.Outcome.OptionID}}}})
			return false
		}
	} else {
		a.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress", "rawInput": input})
	}
	out, ok := do()
	status := map[bool]string{true: "completed", false: "failed"}[ok]
	a.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
		"content": []any{map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": out}}}})
	return ok
}

// turn does what the last line of a prompt says, or the last that begins with "please ".
func (a *acpProgram) turn(text string) (stop string) {
	a.mu.Lock()
	a.cancelled = make(chan struct{})
	a.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	for _, one := range lines {
		if wish, ok := strings.CutPrefix(one, "please "); ok {
			line = wish
		}
	}
	verb, rest, _ := strings.Cut(line, " ")
	id := fmt.Sprintf("call-%d", time.Now().UnixNano())
	shell := func(line string) func() (string, bool) {
		return func() (string, bool) {
			out, err := exec.Command("sh", "-c", line).CombinedOutput()
			return string(out), err == nil
		}
	}
	switch verb {
	case "say":
		a.say("agent_thought_chunk", "I was told to ")
		a.say("agent_thought_chunk", "say something.")
		a.update(map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]any{"content": "say it", "priority": "high", "status": "in_progress"}}})
		for word := range strings.FieldsSeq(rest) {
			a.say("agent_message_chunk", word+" ")
		}
	case "run", "runs": // asked for, or not
		a.say("agent_message_chunk", "I run it.")
		if a.call(id, "execute", "`"+rest+"`", map[string]any{"command": rest}, verb == "run", shell(rest)) {
			a.say("agent_message_chunk", "It ran.")
		} else {
			a.say("agent_message_chunk", "It did not.")
		}
	case "edit":
		a.call(id, "edit", "Edit "+rest, map[string]any{"file_path": rest}, true, func() (string, bool) {
			err := os.WriteFile(rest, []byte("edited\n"), 0o600)
			return "edited", err == nil
		})
		a.say("agent_message_chunk", "Done.")
	case "which": // mode and model
		if a.say("agent_message_chunk", "mode "+a.mode+", model "+a.chosen); a.effort != "" {
			a.say("agent_message_chunk", ", effort "+a.effort)
		}
	case "/zap", "/compact": // its own commands
		a.say("agent_message_chunk", verb+" did "+rest)
	case "move": // goes into another mode by itself
		a.mode = rest
		a.update(map[string]any{"sessionUpdate": "current_mode_update", "currentModeId": rest})
		a.say("agent_message_chunk", "moved")
	case "draw":
		dot := map[string]any{"type": "image", "mimeType": "image/png", "data": dotPNG()}
		a.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": dot})
		a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": id, "title": "shot", "kind": "read", "status": "completed", "rawInput": map[string]any{"n": 1},
			"content": []any{map[string]any{"type": "content", "content": dot}}})
	case "change": // FILE OLD NEW: a word of it, told as a difference
		words := strings.Fields(rest)
		old, _ := os.ReadFile(words[0])
		was := ""
		for line := range strings.Lines(string(old)) {
			if strings.Contains(line, words[1]) {
				was = line
			}
		}
		now := strings.ReplaceAll(was, words[1], words[2])
		os.WriteFile(words[0], []byte(strings.ReplaceAll(string(old), was, now)), 0o600)
		path, _ := filepath.Abs(words[0])
		a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": id, "title": "Edit " + words[0], "kind": "edit", "status": "completed", "rawInput": map[string]any{"file_path": path},
			"content": []any{map[string]any{"type": "diff", "path": path, "oldText": was, "newText": now}}})
	case "blab": // where its model is: in pieces, in what a command prints, and in its error
		at := os.Getenv("ANTHROPIC_BASE_URL")
		a.say("agent_message_chunk", "403 url: "+at[:len(at)/2])
		a.say("agent_message_chunk", at[len(at)/2:]+"/v1/messages, mcp "+a.tools)
		a.call(id, "execute", "env", map[string]any{"command": "env"}, false, func() (string, bool) { return "ANTHROPIC_BASE_URL=" + at, true })
		if fmt.Fprintln(os.Stderr, at); rest == "fail" {
			return "failed: connect " + at
		}
	case "slowly": // a call of which first only the folder is known; what it prints comes in pieces
		tell := func(u map[string]any) {
			u["sessionUpdate"], u["toolCallId"] = "tool_call_update", id
			a.update(u)
		}
		a.update(map[string]any{"sessionUpdate": "tool_call", "toolCallId": id, "title": "bash", "kind": "execute", "status": "pending", "rawInput": map[string]any{"cwd": "/"}})
		tell(map[string]any{"rawInput": map[string]any{"command": rest, "cwd": "/"}, "content": []any{map[string]any{"type": "terminal", "terminalId": id}}})
		for _, piece := range []string{"one\n", "two\n"} {
			tell(map[string]any{"_meta": map[string]any{"terminal_output_delta": map[string]any{"data": piece}}})
		}
		tell(map[string]any{"status": "failed", "rawOutput": map[string]any{"exit_code": 3}, "_meta": map[string]any{"terminal_exit": map[string]any{"exit_code": 3, "signal": nil}}})
	case "recall":
		a.say("agent_message_chunk", "I heard: "+strings.Join(a.heard(a.session), " | "))
	case "hang": // starts something that leaves its group and session, and hears nothing
		a.say("agent_message_chunk", "I hang.")
		signalIgnore()
		a.call(id, "execute", "hang", map[string]any{"command": rest}, false, func() (string, bool) {
			leaves(exec.Command("sh", "-c", rest))
			select {}
		})
	case "wait": // until it is cancelled, and says something then
		a.say("agent_message_chunk", "I wait.")
		<-a.cancelled
		a.say("agent_message_chunk", " I stop.")
		return "cancelled"
	case "die":
		a.say("agent_message_chunk", "I die.")
		a.call(id, "execute", "die", map[string]any{"command": "true"}, false, func() (string, bool) {
			fmt.Fprintln(os.Stderr, "these are my last words")
			os.Exit(3)
			return "", false
		})
	case "flood":
		for range 20000 {
			a.say("agent_message_chunk", "x")
		}
		for i := range 200 {
			a.update(map[string]any{"sessionUpdate": "dance", "n": i})
		}
	case "long":
		a.say("agent_message_chunk", strings.Repeat("y", 16<<20))
		a.print(`{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("z", 25<<20) + `"}`)
		a.say("agent_message_chunk", "end")
	case "ask", "lie": // its model, so often; and reports what that counted, or anything
		number, big, _ := strings.Cut(rest, " ")
		n, _ := strconv.Atoi(number)
		for range max(n, 1) {
			status, said := a.model(big != "")
			if a.say("agent_message_chunk", fmt.Sprintf("%d %s\n", status, said)); status != 200 {
				break
			}
		}
		if verb == "lie" {
			a.told.in = 0
		}
	case "loop": // asks its model until it is refused
		for {
			if status, said := a.model(false); status != 200 {
				a.say("agent_message_chunk", fmt.Sprintf("%d %s\n", status, said))
				break
			}
		}
	case "tool": // NAME ARGUMENTS: one of ramet's own
		name, args, _ := strings.Cut(rest, " ")
		a.call(id, "other", "mcp__ramet__"+name, map[string]any{"arguments": args}, false, func() (string, bool) {
			said, ok := a.tool(name, args)
			a.say("agent_message_chunk", said)
			return said, ok
		})
	default:
		a.say("agent_message_chunk", "I do not know "+verb)
	}
	return "end_turn"
}

// options are what it offers beside modes and models: how hard it thinks.
func (a *acpProgram) options() []any {
	return []any{map[string]any{"id": "thinking", "name": "Thinking", "category": "thought_level", "type": "select", "currentValue": cmp.Or(a.effort, "low"),
		"options": []any{map[string]any{"value": "low", "name": "Low"}, map[string]any{"value": "high", "name": "High"}}}}
}

// dotPNG is a small picture.
func dotPNG() string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// somebodysKey looks like a key of a vendor.
func somebodysKey() string {
	sum := sha512.Sum512([]byte("somebody's"))
	return "sk-" + "ant-api03-" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// model asks its model something.
func (a *acpProgram) model(big bool) (status int, said string) {
	body := `{"model":"claude-sonnet-4-6","max_tokens":100,"stream":true}`
	if big { // with a secret of somebody's
		body = `{"model":"claude-sonnet-4-6","max_tokens":50000,"stream":true,"system":"` + somebodysKey() + `"}`
	}
	r, err := http.NewRequest("POST", os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("X-Api-Key", os.Getenv("FAKE_LOGIN"))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Type    string
			Message struct {
				Usage struct {
					In int64 `json:"input_tokens"`
				}
			}
			Usage struct {
				Out int64 `json:"output_tokens"`
			}
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &e) == nil {
			a.told.in += e.Message.Usage.In
			a.told.out += e.Usage.Out
		}
	}
	return answer.StatusCode, strings.TrimSpace(string(text))
}

// tool asks ramet's own server over HTTP, by the protocol alone.
func (a *acpProgram) tool(name, args string) (string, bool) {
	if a.tools == "" {
		return "I was told of no tools of ramet", false
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args)
	r, err := http.NewRequest("POST", a.tools, strings.NewReader(body))
	if err != nil {
		return err.Error(), false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error(), false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err == nil && answer.StatusCode == 200
}
