package acp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/driver"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// answering is a program that answers every request, and notes the prompts that arrive.
const answering = `while read -r line; do
	id=$(expr "$line" : '.*"id":\([0-9]*\)')
	case $line in
	*'"session/new"'*) result='{"sessionId":"s"}' ;;
	*'"session/prompt"'*) echo prompt >> prompts; result='{"stopReason":"end_turn"}' ;;
	*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
	esac
	echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done`

// A file that arrives in the folder of a program that is running is refused before each prompt,
// and the program works on when it is gone.
func TestFilesThatArriveLaterAreRefusedBeforeEachPrompt(t *testing.T) {
	dir := t.TempDir()
	settings := filepath.Join(dir, "settings.json")
	p := &Program{Driver: "answering", Asks: func(string) bool { return true }, Clean: func(s string) string { return s },
		Setup: func(context.Context, agent.Agent, string) (Setup, error) {
			return Setup{Args: []string{"sh", "-c", answering}, Env: os.Environ(), Dir: dir, Check: func() error {
				if _, err := os.Stat(settings); err == nil {
					return fault.New(fault.Untrusted, "nobody accepted settings.json")
				}
				return nil
			}}, nil
		}}
	s := testkit.Must(p.Open(t.Context(), agent.Agent{}, driver.Wish{}, driver.Place{}))(t)
	defer s.End()
	prompt := func() error {
		_, err := s.Prompt(t.Context(), []llm.Part{{Type: llm.Text, Text: "hello"}}, func(driver.Update) {})
		return err
	}
	for range 2 {
		testkit.OK(t, prompt())
		testkit.OK(t, os.WriteFile(settings, nil, 0o600))
		if err := prompt(); !fault.Is(err, fault.Untrusted) {
			t.Error(err)
		}
		testkit.OK(t, os.Remove(settings))
	}
	if text, err := os.ReadFile(filepath.Join(dir, "prompts")); err != nil || strings.Count(string(text), "prompt") != 2 {
		t.Errorf("it was sent %q: %v", text, err)
	}
	testkit.Attack(t, "drivers", "settings that arrive while the program runs")
}
