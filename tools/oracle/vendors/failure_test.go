package vendors

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// beyond are refusals that we read and the SDK does not.
var beyond = map[string]string{
	"openai-chat error as text": "a form of servers that only resemble OpenAI's",
	"gemini 404 in a list":      "Google's gateway wraps the error in a list",
}

// What a vendor says of a failure is what we say of it: its status and its words.
func TestRefusals(t *testing.T) {
	for p, folder := range map[Protocol]string{Anthropic: "anthropic", Responses: "responses", Chat: "chat", Gemini: "gemini"} {
		list, err := Refusals("../../../internal/model/" + folder + "/testdata/errors.json")
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %d refusals, %v", p, len(list), err)
		}
		for _, r := range list {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(r.Status)
				w.Write(r.Body)
			}))
			ours, theirs := ourFailure(t.Context(), p, srv.URL), theirFailure(t.Context(), p, srv.URL)
			srv.Close()
			if r.Status < 400 { // an error that pretends to be an answer: the SDKs do not look
				continue
			}
			if reason := beyond[string(p)+" "+r.Name]; reason != "" {
				if strings.Contains(ours.Says, theirs.Says) && theirs.Says != "" {
					t.Errorf("%s %s: the SDK reads it after all (%s)", p, r.Name, reason)
				}
				continue
			}
			if theirs.Status == 0 || ours.Status != theirs.Status || !strings.Contains(ours.Says, theirs.Says) {
				t.Errorf("%s %s: ours %+v, the SDK's %+v", p, r.Name, ours, theirs)
			}
		}
	}
}
