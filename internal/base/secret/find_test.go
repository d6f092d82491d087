package secret

import (
	"slices"
	"strings"
	"testing"
)

func TestFindTellsWhereAndNotWhat(t *testing.T) {
	r := sample()
	text := "one\nkey " + apiKey + "\n\nexport GITHUB_TOKEN=" + githubToken + "\nagain " + apiKey + "\n"
	got := r.Find(text)
	var lines []int
	for _, f := range got {
		lines = append(lines, f.Line)
		if !f.Sure || f.Name == "" || strings.Contains(text, f.Name) && f.Name != "API_KEY" {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(slices.Compact(lines), []int{2, 4, 5}) || got[0].Name != "API_KEY" {
		t.Errorf("%+v", got)
	}
	if got := r.Find("nothing here, [redacted:API_KEY] neither\n"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestFindKnowsHashesFromSecrets(t *testing.T) {
	r := New(nil)
	for text, want := range map[string]bool{
		`api_key = "x8Kq2Zp9vLm4Tn7wRb3c"`:                                        true,
		"token: 9dfb1406f3ec56c177fc8c1c42dc94168135eb54ae4bdf6e177f348b3bbe9534": false,
		"access_key = 5b768359d0ebffcbd2a61b95fcfc57e5680ff115":                   false,
		"secret: sha256-9dfb1406f3ec56c177fc8c1c42dc9416":                         false,
		"token_version = v0.0.0-20260811164956-006e29f97886":                      false,
		"auth_token_id: 123e4567-e89b-12d3-a456-426614174000":                     false,
		"the token cache holds 42 entries":                                        false,
	} {
		got := r.Find(text)
		if (len(got) > 0) != want || want && got[0].Sure {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestFindAgreesWithAll(t *testing.T) {
	r := sample()
	for _, text := range []string{"x " + apiKey, "?k=" + strings.ReplaceAll(apiKey, "/", "%2F"), githubToken, "plain"} {
		if found, changed := len(r.Find(text)) > 0, r.All(text) != text; found != changed {
			t.Errorf("%q: found %t, replaced %t", text, found, changed)
		}
	}
}
