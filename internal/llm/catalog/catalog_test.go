package catalog

import (
	"strings"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/llm"
)

func TestEveryVendorHasAProtocolAndItsDefault(t *testing.T) {
	for _, v := range Vendors() {
		switch v.Protocol {
		case Anthropic, Responses, Chat, Gemini:
		case None:
			if !v.BuiltIn {
				t.Errorf("%s has no protocol", v.Name)
			}
		default:
			t.Errorf("%s has the protocol %q", v.Name, v.Protocol)
		}
		table := v.Table()
		if v.Local != (len(table.Models) == 0) {
			t.Errorf("%s: local %v, and %d models", v.Name, v.Local, len(table.Models))
		}
		if v.Local || v.BuiltIn {
			continue
		}
		if m, ok := v.Model(table.Default); !ok || m.Price.Input == 0 || m.Price.Output == 0 {
			t.Errorf("%s: the default %q is %+v", v.Name, table.Default, m)
		}
		for _, m := range table.Models {
			if p := m.Price; p.CacheWrite != 0 && p.CacheWrite < p.Input {
				t.Errorf("%s/%s: writing to the cache costs less than not to", v.Name, m.Name)
			}
			if p := m.Price; v.Name != "openrouter" && p.CacheRead > p.Input {
				t.Errorf("%s/%s: reading from the cache costs more than not to", v.Name, m.Name)
			}
		}
	}
}

func TestPricesAreThoseOfTheVendors(t *testing.T) {
	for _, c := range []struct {
		vendor, model string
		want          llm.Price
	}{
		{"anthropic", "claude-sonnet-4-6", llm.Price{Input: 3e6, Output: 15e6, CacheRead: 0.3e6, CacheWrite: 3.75e6}},
		{"openai", "gpt-5", llm.Price{Input: 1.25e6, Output: 10e6, CacheRead: 0.125e6}},
		{"openai-chat", "gpt-4.1-mini", llm.Price{Input: 0.4e6, Output: 1.6e6, CacheRead: 0.1e6}},
		{"openai", "gpt-5.4-nano", llm.Price{Input: 0.2e6, Output: 1.25e6, CacheRead: 0.02e6}},
		{"gemini", "gemini-2.5-pro", llm.Price{Input: 1.25e6, Output: 10e6, CacheRead: 0.125e6}},
	} {
		v, err := Find(c.vendor)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := v.Price(c.model); !ok || got != c.want {
			t.Errorf("%s/%s costs %+v, want %+v", c.vendor, c.model, got, c.want)
		}
	}
}

func TestWhatIsNotInTheTable(t *testing.T) {
	anthropic, _ := Find("anthropic")
	if m, ok := anthropic.Model("claude-99"); ok || m.Name != "claude-99" {
		t.Errorf("%+v %v", m, ok)
	}
	if _, ok := anthropic.Price("claude-99"); ok {
		t.Error("somebody knows the price of an unknown model")
	}
	ollama, _ := Find("ollama")
	if p, ok := ollama.Price("anything"); !ok || p != (llm.Price{}) {
		t.Error("a local model costs something")
	}
}

func TestChoose(t *testing.T) {
	only := func(names ...string) func(Vendor) bool {
		return func(v Vendor) bool { return strings.Contains(" "+strings.Join(names, " ")+" ", " "+v.Name+" ") }
	}
	for _, c := range []struct {
		asked  string
		usable func(Vendor) bool
		want   string
		code   fault.Code
	}{
		{"openai/gpt-5", only(), "openai/gpt-5", ""},
		{"openrouter/a/b:free", only(), "openrouter/a/b:free", ""},
		{"", only("gemini", "ollama"), "gemini/" + mustTable("gemini").Default, ""},
		{"", only("gemini", "anthropic"), "anthropic/" + mustTable("anthropic").Default, ""},
		{"", only("ollama"), "offline/offline", ""}, // nobody knows which models it has
		{"", only("offline", "groq"), "groq/" + mustTable("groq").Default, ""},
		{"", only(), "offline/offline", ""},
		{"offline/offline", only("gemini"), "offline/offline", ""},
		{"gpt-5", only(), "", fault.InvalidConfig},
		{"/x", only(), "", fault.InvalidConfig},
		{"openai/", only(), "", fault.InvalidConfig},
		{"openai/a b", only(), "", fault.InvalidConfig},
		{"opnai/gpt-5", only(), "", fault.NotFound},
	} {
		got, err := Choose(c.asked, c.usable)
		if c.code != "" {
			if !fault.Is(err, c.code) {
				t.Errorf("%q: %v, want %s", c.asked, err, c.code)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%q: %s %v, want %s", c.asked, got, err, c.want)
		}
	}
}

func TestTheBuiltInModelNeedsNothing(t *testing.T) {
	v, err := Find(Offline)
	if err != nil {
		t.Fatal(err)
	}
	if all := Vendors(); all[len(all)-1].Name != v.Name {
		t.Errorf("it is not the last resort: %s is", all[len(all)-1].Name)
	}
	if v.KeyOwner()+v.KeyVariable()+v.BaseVariable()+v.Base != "" {
		t.Errorf("%+v has a key or a base URL", v)
	}
	m, ok := v.Model("offline")
	if price, known := v.Price("offline"); !ok || !known || price != (llm.Price{}) || m.Context != 200_000 || m.Title != "built-in offline model" {
		t.Errorf("%+v %v, price %+v %v", m, ok, price, known)
	}
}

func mustTable(name string) Table {
	v, err := Find(name)
	if err != nil {
		panic(err)
	}
	return v.Table()
}
