package otlp

import "testing"

// A model is its vendor's, also behind an address of this machine.
func TestTheProviderIsTheVendor(t *testing.T) {
	for _, c := range []struct {
		about           about
		provider, model string
	}{
		{about{BaseURL: "http://127.0.0.1:4000/v1", Provider: "openai", Model: "gpt-x"}, "openai", "gpt-x"},
		{about{BaseURL: "https://api.anthropic.com/v1", Provider: "anthropic", Model: "claude-x"}, "anthropic", "claude-x"},
		{about{BaseURL: "http://127.0.0.1:4000/v1", Model: "m"}, "127.0.0.1", "m"}, // of a log that was written before
	} {
		if provider, model := providerOf(c.about); provider != c.provider || model != c.model {
			t.Errorf("%+v: %s %s", c.about, provider, model)
		}
	}
}
