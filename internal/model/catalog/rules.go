package catalog

import (
	"path"

	"ramet/internal/model/llm"
)

// Rule describes the models of a family where no list of models does:
// how hard they think by default, and what they want or charge
// otherwise than others. Each has the page that says so and the day on which it did;
// of two, the later one wins.
type Rule struct {
	Vendor   string
	Families []string // patterns of names, see path.Match; a star ends at a slash
	Effort   llm.Effort
	Quiet    bool
	Steady   bool
	Long     llm.Long
	Search   int64 // it can search the web: what that costs, in pico-dollars
	Source   string
	Date     string
}

var rules = []Rule{
	{Vendor: "anthropic", Families: []string{"claude-*"}, Effort: llm.High, Source: "https://platform.claude.com/docs/en/build-with-claude/effort", Date: "2026-11-15"},
	{Vendor: "anthropic", Families: []string{"claude-haiku-*"}, Effort: llm.Medium, Source: "https://platform.claude.com/docs/en/build-with-claude/effort", Date: "2026-11-15"},
	{Vendor: "anthropic", Families: []string{"claude-opus-4-7*", "claude-opus-4-8*", "claude-opus-5*", "claude-sonnet-5*", "claude-mythos-5*", "claude-fable-5*"}, Quiet: true, Steady: true, Source: "https://openrouter.ai/docs/guides/evaluate-and-optimize/model-migrations/claude-4-7", Date: "2026-11-15"},
	{Vendor: "bedrock", Families: []string{"*anthropic.claude-*"}, Effort: llm.High, Source: "https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html", Date: "2026-11-15"},
	{Vendor: "bedrock", Families: []string{"*anthropic.claude-opus-4-7*", "*anthropic.claude-opus-4-8*", "*anthropic.claude-opus-5*", "*anthropic.claude-sonnet-5*", "*anthropic.claude-fable-5*"}, Quiet: true, Steady: true, Source: "https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html", Date: "2026-11-15"},
	{Vendor: "openai", Families: []string{"gpt-5*", "o[0-9]*"}, Effort: llm.Medium, Steady: true, Source: "https://platform.openai.com/docs/guides/reasoning", Date: "2026-11-15"},
	{Vendor: "openai", Families: []string{"gpt-5.4", "gpt-5.4-pro", "gpt-5.5", "gpt-5.5-pro"}, Long: llm.Long{Above: 272000, Input: 200, Output: 150}, Source: "https://developers.openai.com/api/docs/pricing", Date: "2026-11-15"},
	{Vendor: "gemini", Families: []string{"gemini-3*"}, Effort: llm.High, Source: "https://ai.google.dev/gemini-api/docs/thinking", Date: "2026-11-15"},
	{Vendor: "gemini", Families: []string{"gemini-*-pro*"}, Long: llm.Long{Above: 200000, Input: 200, Output: 150}, Source: "https://ai.google.dev/gemini-api/docs/pricing", Date: "2026-11-15"},
	{Vendor: "deepseek", Families: []string{"deepseek-*"}, Effort: llm.High, Source: "https://api-docs.deepseek.com", Date: "2026-11-15"},
	{Vendor: "openrouter", Families: []string{"anthropic/*", "google/*"}, Effort: llm.High, Source: "https://openrouter.ai/docs/use-cases/reasoning-tokens", Date: "2026-11-15"},
	{Vendor: "openrouter", Families: []string{"openai/*"}, Effort: llm.Medium, Source: "https://openrouter.ai/docs/use-cases/reasoning-tokens", Date: "2026-11-15"},
	{Vendor: "vertex", Families: []string{"gemini-3*", "claude-*"}, Effort: llm.High, Source: "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thinking", Date: "2026-11-15"},
	{Vendor: "vertex", Families: []string{"claude-haiku-*"}, Effort: llm.Medium, Source: "https://platform.claude.com/docs/en/build-with-claude/effort", Date: "2026-11-15"},
	{Vendor: "vertex", Families: []string{"gemini-*-pro*"}, Long: llm.Long{Above: 200000, Input: 200, Output: 150}, Source: "https://cloud.google.com/vertex-ai/generative-ai/pricing", Date: "2026-11-15"},
	{Vendor: "anthropic", Families: []string{"claude-*"}, Search: 10000000000, Source: "https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool", Date: "2026-11-15"},
	{Vendor: "openai", Families: []string{"gpt-5*", "gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-4o-mini", "o3", "o4-mini"}, Search: 10000000000, Source: "https://developers.openai.com/api/docs/pricing", Date: "2026-11-15"},
	{Vendor: "gemini", Families: []string{"gemini-2.5*"}, Search: 35000000000, Source: "https://ai.google.dev/gemini-api/docs/pricing", Date: "2026-11-15"},
	{Vendor: "gemini", Families: []string{"gemini-3*"}, Search: 14000000000, Source: "https://ai.google.dev/gemini-api/docs/pricing", Date: "2026-11-15"},
	{Vendor: "openrouter", Families: []string{"*/*"}, Search: 20000000000, Source: "https://openrouter.ai/docs/guides/features/plugins/web-search", Date: "2026-11-15"},
}

// Fits reports whether a rule is about a model.
func (r Rule) Fits(vendor, name string) bool {
	if r.Vendor != vendor {
		return false
	}
	for _, family := range r.Families {
		if ok, err := path.Match(family, name); ok && err == nil {
			return true
		}
	}
	return false
}

// EffortRule returns the rule that says how hard a model of the vendor is to think where
// nobody says; ok is false where none does.
func (v Vendor) EffortRule(m llm.Model) (out Rule, ok bool) {
	for _, r := range rules {
		if r.Effort != "" && r.Fits(v.owner(), m.Name) && m.Effort == r.Effort {
			out, ok = r, true
		}
	}
	return out, ok
}

// applyRules returns a model with what the rules say of it.
func applyRules(vendor string, m llm.Model) llm.Model {
	for _, r := range rules {
		if !r.Fits(vendor, m.Name) {
			continue
		}
		if r.Effort != "" && (m.Thinks || !m.Known) {
			m.Effort = r.Effort
		}
		m.Quiet, m.Steady = m.Quiet || r.Quiet, m.Steady || r.Steady
		m.Search = m.Search || r.Search > 0
		if r.Search > 0 && m.Price.Input > 0 {
			m.Price.Search = r.Search
		}
		if r.Long.Above > 0 && m.Price.Input > 0 {
			m.Price.Long = r.Long
		}
	}
	return m
}

// least is the number of bytes of its name that a model must share with another to be taken for
// one of its family: more than the maker's name.
const least = 6

// guessModel returns a model that is in no table, with the limits of the one whose name is
// most like its own. What it costs and whether it thinks is not guessed.
func guessModel(table Table, name string) llm.Model {
	out, best := llm.Model{Name: name}, least-1
	for _, m := range table.Models {
		n := 0
		for n < min(len(name), len(m.Name)) && name[n] == m.Name[n] {
			n++
		}
		if n > best {
			best, out.Context, out.Output = n, m.Context, m.Output
		}
	}
	return out
}
