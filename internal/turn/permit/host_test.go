package permit

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func TestRulesPermitHosts(t *testing.T) {
	for _, c := range []struct {
		rule, to string
		want     bool
	}{
		{"net(example.com)", "example.com:443", true},
		{"net(example.com)", "Example.COM:80", true},
		{"net(Example.com)", "example.com:443", true},
		{"net(example.com)", "example.com:22", false},
		{"net(example.com)", "a.example.com:443", false},
		{"net(example.com)", "example.com.evil.org:443", false},
		{"net(example.com)", "notexample.com:443", false},
		{"net(example.com:8443)", "example.com:8443", true},
		{"net(example.com:8443)", "example.com:443", false},
		{"net(*.example.com)", "a.b.example.com:443", true},
		{"net(*.example.com)", "example.com:443", false},
		{"net(*.example.com)", "notexample.com:443", false},
		{"net(*.example.com)", ".example.com:443", false},
		{"net(*.example.com:8443)", "a.example.com:8443", true},
		{"net", "example.com:443", true},
		{"net", "example.com:22", false},
		{"net", "93.184.216.34:443", false},
		{"net(93.184.216.34)", "93.184.216.34:443", true},
		{"net(93.184.216.34)", "93.184.216.35:443", false},
		{"net(10.0.0.5:8080)", "10.0.0.5:8080", true},
		{"net(10.0.0.5)", "10.0.0.5:8080", false},
		{"net([::1]:8080)", "[::1]:8080", true},
		{"net([::1]:8080)", "[0:0:0:0:0:0:0:1]:8080", true},
		{"net([::1])", "[::1]:443", true},
		{"net(127.0.0.1)", "[::ffff:127.0.0.1]:443", true},
		{"fetch(example.com)", "example.com:443", false},
		{"bash", "example.com:443", false},
	} {
		r := testkit.Must(Parse(c.rule))(t)
		if got := Permits([]Rule{r}, Network, c.to); got != c.want {
			t.Errorf("%s permits %s: %v", c.rule, c.to, got)
		}
		if r.String() != c.rule {
			t.Errorf("%s is written %s", c.rule, r)
		}
	}
	for _, bad := range []string{"net(*)", "net(*:443)", "net(a*.example.com)", "net(*.*.com)", "net(*.10.0.0.5)", "net(10.0.0.*)", "net(a b)", "net()", "net(a/b)", "net(https://a.com)",
		"net(a:0)", "net(a:080)", "net(a:65536)", "net(a:)", "net(::1)", "net([::1)", "net([fe80::1%eth0])", "net([10.0.0.1])", "net(127.1)", "net(0x7f.0x1)", "net(2130706433)", "net(a..b)", "net(.a)", "net!(a)"} {
		if r, err := Parse(bad); err == nil {
			t.Errorf("%s is %+v", bad, r)
		}
	}
}

// allowing is a policy with these rules on its command line.
func allowing(ask Asker, mode Mode, rules ...string) *Policy {
	var given []Rule
	for _, r := range rules {
		given = append(given, fault.Must(Parse(r)))
	}
	return &Policy{Ask: ask, Mode: mode, Settings: func() ([]Rule, Mode, error) { return given, "", nil }}
}

func TestReachingAHost(t *testing.T) {
	never := asker(func(context.Context, Question) (Verdict, error) { return Verdict{}, errors.New("asked") })
	for name, c := range map[string]struct {
		policy *Policy
		to     string
		by     string
		want   string // of the refusal; empty: it is permitted
	}{
		"by a rule":              {allowing(never, Box, "net(a.com)"), "a.com:443", history.ByRule, ""},
		"no rule, no person":     {allowing(nil, Box), "a.com:443", history.ByNobody, "--allow 'net(a.com)'"},
		"the port is named":      {allowing(nil, Box), "a.com:8443", history.ByNobody, "--allow 'net(a.com:8443)'"},
		"another port":           {allowing(never, Box, "net(a.com)"), "a.com:22", history.ByRule, "do not permit this port: the user can permit it with --allow 'net(a.com:22)'"},
		"an address":             {allowing(never, Box, "net"), "8.8.8.8:443", history.ByRule, "--allow 'net(8.8.8.8)'"},
		"an address of a rule":   {allowing(never, Box, "net(8.8.8.8)"), "8.8.8.8:443", history.ByRule, ""},
		"an agent that reads":    {allowing(never, ReadOnly, "net"), "a.com:443", history.ByMode, "only reads"},
		"another program's rule": {allowing(never, Edits, "bash", "fetch"), "a.com:443", history.ByNobody, "asked"},
		"a person's no":          {allowing(says(Refuse, ""), Box), "a.com:443", history.ByPerson, "the user did not permit network to a.com:443"},
		"a person's yes":         {allowing(says(Once, ""), Ask), "a.com:443", history.ByPerson, ""},
	} {
		record, err := c.policy.Reach(t.Context(), tool.Call{Agent: "a", ID: "1"}, c.to, "npm ci")
		if (err == nil) != (c.want == "") || err != nil && (!fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if record == nil || record.By != c.by || (record.Answer == history.Allowed) != (err == nil) {
			t.Errorf("%s: %+v", name, record)
		}
	}
}

func TestAQuestionAboutAHost(t *testing.T) {
	var q Question
	p := allowing(asker(func(_ context.Context, asked Question) (Verdict, error) {
		q = asked
		return Verdict{Choice: ForAgent}, nil
	}), Box)
	record := testkit.Must(p.Reach(t.Context(), tool.Call{Agent: "a", ID: "c1"}, "a.com:443", "npm ci\nnpm test"))(t)
	if record.Rule != "net(a.com)" || record.Choice != string(ForAgent) {
		t.Errorf("%+v", record)
	}
	if q.Tool != Network || q.Subject != "a.com:443" || !strings.HasPrefix(q.Summary, "network to a.com, for npm ci") || q.BeforeCall() || q.CallID == "c1" || q.Options()[0].Choice != Refuse {
		t.Errorf("%+v", q)
	}
	p.Ask = nil // what was granted is not asked again
	testkit.Must(p.Reach(t.Context(), tool.Call{Agent: "a", ID: "c2"}, "a.com:80", "npm ci"))(t)
	if p.NamesAddress(t.Context(), "a", netip.MustParseAddrPort("10.0.0.1:443")) {
		t.Error("a grant for a host names an address")
	}
	if !allowing(nil, Box, "net(10.0.0.1)").NamesAddress(t.Context(), "a", netip.MustParseAddrPort("[::ffff:10.0.0.1]:443")) {
		t.Error("a rule does not name its address")
	}
	if allowing(nil, ReadOnly, "net(10.0.0.1)").NamesAddress(t.Context(), "a", netip.MustParseAddrPort("10.0.0.1:443")) {
		t.Error("an agent that only reads reaches an address")
	}
	for rule, want := range map[string]bool{"net(a.com)": true, "net(*.com)": true, "net(b.com)": false, "bash": false} {
		q.NoRule = ""
		if err := q.CheckSaved(fault.Must(Parse(rule))); (err == nil) != want {
			t.Errorf("saving %s: %v", rule, err)
		}
	}
}
