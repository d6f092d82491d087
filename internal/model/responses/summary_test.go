package responses

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// unverified refuses summaries, as OpenAI does to organisations that it does not
// know.
type unverified struct{ asked []string }

func (u *unverified) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	u.asked = append(u.asked, string(body))
	if strings.Contains(string(body), `"summary":"auto"`) {
		return answer(400, "application/json", `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`), nil
	}
	return answer(200, "text/event-stream", "data: {\"type\":\"response.completed\",\"response\":{}}\n\n"), nil
}

func answer(status int, media, text string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(strings.NewReader(text))}
}

func TestRefusedSummariesAreLeftOut(t *testing.T) {
	u := &unverified{}
	p := New(wire.Options{Vendor: "openai", Base: "http://127.0.0.1", Key: "k", HTTP: u, Model: func(string) llm.Model { return llm.Model{Known: true, Thinks: true} }})
	for range 2 {
		if _, _, finish, err := llm.Collect(p.Stream(t.Context(), llm.Request{Model: "gpt-5", Effort: llm.Low, Messages: []llm.Message{llm.Say(llm.User, "hi")}})); err != nil || finish.Reason != llm.Stop {
			t.Fatal(finish, err)
		}
	}
	if len(u.asked) != 3 || !strings.Contains(u.asked[2], `"reasoning":{"effort":"low"}`) || !strings.Contains(u.asked[2], "encrypted_content") {
		t.Errorf("%d requests: %s", len(u.asked), u.asked)
	}
}
