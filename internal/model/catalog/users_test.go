package catalog

import (
	"testing"

	"ramet/internal/base/fault"
)

func TestVendorsOfTheUserStandBesideTheOthers(t *testing.T) {
	defer Use(nil)
	Use([]Vendor{{Name: "my-own", Base: "https://x.example"}, {Name: "openai", Base: "https://proxy.example/v1", TokenCommand: "t"}, {Name: "vertex", Location: "us"}})
	v, err := Find("my-own")
	if err != nil || v.Protocol != Chat || !v.Added || !v.Asks || v.Title != "my-own" || v.KeyVariable() != "MY_OWN_API_KEY" {
		t.Errorf("%+v %v", v, err)
	}
	if base, err := v.URL(""); base != "https://x.example/v1" || err != nil {
		t.Error(base, err)
	}
	if v, _ := Find("openai"); v.Base != "https://proxy.example/v1" || !v.Moved || v.TokenCommand != "t" || v.Protocol != Responses {
		t.Errorf("%+v", v)
	}
	if all := Vendors(); !all[len(all)-1].BuiltIn || all[len(all)-2].Name != "my-own" {
		t.Error("the one that is built in is not the last")
	}
	v, _ = Find("vertex")
	for location, want := range map[string]string{"": "https://aiplatform.googleapis.com", "us": "https://aiplatform.us.rep.googleapis.com", "us-east5": "https://us-east5-aiplatform.googleapis.com"} {
		v.Location = location
		if base, err := v.URL(""); base != want || err != nil {
			t.Error(base, err)
		}
	}
	if v.Speaks("claude-opus-4-6") != Anthropic || v.Speaks("gemini-3") != Gemini {
		t.Error("protocols of vertex")
	}
	Use(nil)
	if _, err := Find("my-own"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}
