package facetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/testkit"
)

// patience limits every wait of an editor.
const patience = 2 * time.Minute

// Editor is a client of `ramet acp`. It checks that everything it reads is a message.
type Editor struct {
	sdk.Client // nil: it offers neither files nor terminals
	*sdk.ClientSideConnection
	Ctx context.Context
	In  io.WriteCloser // what it writes to
	// Choose answers a question; nil or empty: it waits.
	Choose func(sdk.RequestPermissionRequest) string

	t       testing.TB
	mu      sync.Mutex
	updates []sdk.SessionNotification
	asked   []sdk.RequestPermissionRequest
	frames  bytes.Buffer // all that it read
	changed chan struct{}
}

// Connect connects an editor, which writes to in and reads from out.
func Connect(t testing.TB, in io.WriteCloser, out io.Reader) *Editor {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	e := &Editor{t: t, Ctx: ctx, In: in, changed: make(chan struct{}, 1)}
	e.ClientSideConnection = sdk.NewClientSideConnection(e, in, io.TeeReader(out, frames{e}))
	e.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		defer cancel()
		in.Close()
		e.checkFrames()
	})
	return e
}

// frames keeps what was read.
type frames struct{ e *Editor }

func (f frames) Write(p []byte) (int, error) {
	f.e.mu.Lock()
	defer f.e.mu.Unlock()
	f.e.ring()
	return f.e.frames.Write(p)
}

// checkFrames checks that nothing but messages was read.
func (e *Editor) checkFrames() {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.frames.Bytes()
	for line := range bytes.Lines(all[:bytes.LastIndexByte(all, '\n')+1]) {
		var m struct{ JSONRPC string }
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			e.t.Errorf("it wrote what is not a message: %.200q", line)
		}
	}
}

func (e *Editor) ring() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// SessionUpdate implements sdk.Client.
func (e *Editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, n)
	e.ring()
	return nil
}

// RequestPermission implements sdk.Client.
func (e *Editor) RequestPermission(ctx context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	choose := e.Choose
	e.mu.Unlock()
	word := ""
	if choose != nil {
		word = choose(r)
	}
	if word == "" {
		<-ctx.Done()
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(word))}, nil
}

// Asked returns the questions so far.
func (e *Editor) Asked() []sdk.RequestPermissionRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// Greet introduces the editor.
func (e *Editor) Greet() sdk.InitializeResponse {
	e.t.Helper()
	return testkit.Must(e.Initialize(e.Ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber}))(e.t)
}

// Begin makes a session in a folder, with a model for its next turn.
func (e *Editor) Begin(dir, model string, lent ...sdk.McpServer) sdk.SessionId {
	e.t.Helper()
	made := testkit.Must(e.NewSession(e.Ctx, sdk.NewSessionRequest{Cwd: dir, McpServers: append([]sdk.McpServer{}, lent...)}))(e.t)
	e.Use(made.SessionId, model)
	return made.SessionId
}

// Use chooses the model of the next turn.
func (e *Editor) Use(s sdk.SessionId, model string) {
	e.t.Helper()
	testkit.Must(e.UnstableSetSessionModel(e.Ctx, sdk.UnstableSetSessionModelRequest{SessionId: s, ModelId: sdk.UnstableModelId(model)}))(e.t)
}

// Load loads a session.
func (e *Editor) Load(s sdk.SessionId, dir string) sdk.LoadSessionResponse {
	e.t.Helper()
	return testkit.Must(e.LoadSession(e.Ctx, sdk.LoadSessionRequest{SessionId: s, Cwd: dir, McpServers: []sdk.McpServer{}}))(e.t)
}

// Ask returns the request that prompts a session with text.
func Ask(s sdk.SessionId, text string) sdk.PromptRequest {
	return sdk.PromptRequest{SessionId: s, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}}
}

// Say prompts a session, waits for the end of the turn, and checks why it ended.
func (e *Editor) Say(s sdk.SessionId, text string, why sdk.StopReason) {
	e.t.Helper()
	if r := testkit.Must(e.Prompt(e.Ctx, Ask(s, text)))(e.t); r.StopReason != why {
		e.t.Errorf("%s: it ended with %s, not %s", text, r.StopReason, why)
	}
}

// Saying calls Say in a goroutine. The channel is closed when the turn has ended.
func (e *Editor) Saying(s sdk.SessionId, text string, why sdk.StopReason) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		if r, err := e.Prompt(e.Ctx, Ask(s, text)); err != nil || r.StopReason != why {
			e.t.Errorf("%s: it ended with %s, not %s: %v", text, r.StopReason, why, err)
		}
	}()
	return over
}

// Heard returns what a session told so far, a line each: kind and words.
func (e *Editor) Heard(s sdk.SessionId) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, n := range e.updates {
		if n.SessionId != s {
			continue
		}
		line := describe(n.Update)
		for _, kind := range []string{"agent: ", "thought: "} { // pieces of one message
			if n := len(out); n > 0 && strings.HasPrefix(line, kind) && strings.HasPrefix(out[n-1], kind) {
				line = out[n-1] + strings.TrimPrefix(line, kind)
				out = out[:n-1]
			}
		}
		out = append(out, line)
	}
	return out
}

// Until waits for a line of a session.
func (e *Editor) Until(s sdk.SessionId, want string) {
	e.t.Helper()
	e.wait(want, func() bool {
		return slices.ContainsFunc(e.Heard(s), func(l string) bool { return strings.Contains(l, want) })
	})
}

// Frame waits for a message with some text.
func (e *Editor) Frame(want string) {
	e.t.Helper()
	e.wait(want, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return strings.Contains(e.frames.String(), want)
	})
}

func (e *Editor) wait(want string, has func() bool) {
	e.t.Helper()
	for !has() {
		select {
		case <-e.changed:
		case <-e.Ctx.Done():
			e.t.Fatalf("it never said %q in\n%s", want, e.frames.String())
		}
	}
}

// InOrder checks that a session told these lines behind the first ones, in this order.
func (e *Editor) InOrder(s sdk.SessionId, behind int, want ...string) {
	e.t.Helper()
	got := e.Heard(s)[behind:]
	rest := got
	for _, w := range want {
		i := slices.IndexFunc(rest, func(l string) bool { return strings.Contains(l, w) })
		if i < 0 {
			e.t.Fatalf("%q is not there, or not in order, in:\n%s", w, strings.Join(got, "\n"))
		}
		rest = rest[i+1:]
	}
}

func textOf(b sdk.ContentBlock) string {
	if b.Text != nil {
		return b.Text.Text
	}
	return "?"
}

// describe returns an update as a line.
func describe(u sdk.SessionUpdate) string {
	switch {
	case u.UserMessageChunk != nil:
		return "user: " + textOf(u.UserMessageChunk.Content)
	case u.AgentMessageChunk != nil:
		return "agent: " + textOf(u.AgentMessageChunk.Content)
	case u.AgentThoughtChunk != nil:
		return "thought: " + textOf(u.AgentThoughtChunk.Content)
	case u.ToolCall != nil:
		out := "call " + string(u.ToolCall.ToolCallId) + " " + string(u.ToolCall.Kind) + " " + string(u.ToolCall.Status) + ": " + u.ToolCall.Title
		for _, c := range u.ToolCall.Content {
			if c.Diff != nil {
				old := "(none)"
				if c.Diff.OldText != nil {
					old = *c.Diff.OldText
				}
				out += " [" + filepath.Base(c.Diff.Path) + ": " + old + " => " + c.Diff.NewText + "]"
			}
		}
		return out
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
		return "call " + string(u.ToolCallUpdate.ToolCallId) + " " + string(*u.ToolCallUpdate.Status)
	case u.Plan != nil:
		out := "plan:"
		for _, p := range u.Plan.Entries {
			out += " " + string(p.Status) + " " + p.Content
		}
		return out
	case u.CurrentModeUpdate != nil:
		return "mode: " + string(u.CurrentModeUpdate.CurrentModeId)
	case u.AvailableCommandsUpdate != nil:
		out := "commands:"
		for _, c := range u.AvailableCommandsUpdate.AvailableCommands {
			out += " " + c.Name
		}
		return out
	}
	return "other"
}

// Code returns the code of an error of the protocol; 0: it is none.
func Code(err error) int {
	if r, ok := errors.AsType[*sdk.RequestError](err); ok {
		return r.Code
	}
	return 0
}
