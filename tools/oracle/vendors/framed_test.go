package vendors

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"ramet/internal/model/llm"
	"ramet/internal/model/wire"
)

// What we send to Amazon is what the SDK sends: the same path, header and members.
func TestTheSameRequestToAmazon(t *testing.T) {
	type sent struct {
		Path, Key string
		Body      map[string]any
	}
	var got []sent
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		one := sent{Path: r.URL.EscapedPath(), Key: r.Header.Get("Authorization")}
		json.Unmarshal(text, &one.Body)
		got = append(got, one)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer srv.Close()
	const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	client := anthropicClient(Bedrock, srv.URL)
	stream := client.Messages.NewStreaming(t.Context(), sdk.MessageNewParams{Model: model, MaxTokens: 10,
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hi"))}})
	stream.Next()
	p := provider(Bedrock, wire.Options{Vendor: "bedrock", Base: srv.URL, Key: "key", Model: known(Bedrock)})
	llm.Collect(p.Stream(t.Context(), llm.Request{Model: model, MaxTokens: 10, Messages: []llm.Message{llm.Say(llm.User, "Hi")}}))
	if len(got) != 2 || !reflect.DeepEqual(got[0], got[1]) {
		t.Errorf("the SDK and we sent\n%+v", got)
	}
}
