package text

import (
	"encoding/json"
	"testing"
)

func FuzzJSONKeepsItsValueAndDrivesNothing(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b[31m \u009b31m \u202e \u2028 \ufeff \U0001fffe \x7f é")
	f.Fuzz(func(t *testing.T, s string) {
		in, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		out := JSON(string(in))
		if Safe(out) != out {
			t.Errorf("%q would drive a terminal", out)
		}
		var want, got string
		if json.Unmarshal(in, &want) != nil || json.Unmarshal([]byte(out), &got) != nil || want != got {
			t.Errorf("%q became %q", want, got)
		}
	})
}
