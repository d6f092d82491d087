package secret

import (
	"strings"
	"testing"
)

// BenchmarkRedact gives MB/s over text of the kind agents produce.
func BenchmarkRedact(b *testing.B) {
	r := New(map[string]string{
		"OPENAI_API_KEY":    "sk-proj-" + strings.Repeat("aB3xY9", 8),
		"ANTHROPIC_API_KEY": "sk-ant-" + strings.Repeat("Qw7eR2", 8),
		"RAMET_TOKEN":       apiKey,
	})
	line := "2026-01-02 15:04:05 fetched https://example.com/a%20b?page=2 in 17 ms; the token cache holds 42 entries\n"
	clean := strings.Repeat(line, 1<<20/len(line))
	found := clean + "export GITHUB_TOKEN=" + githubToken + "\n" + "x " + apiKey
	for _, c := range []struct {
		name string
		text string
		f    func(string) string
	}{
		{"own/clean", clean, r.Own},
		{"own/found", found, r.Own},
		{"all/clean", clean, r.All},
		{"all/found", found, r.All},
		{"all/line", line, r.All},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.f(c.text) // builds the rules
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				c.f(c.text)
			}
		})
	}
}
