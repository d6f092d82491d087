package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ramet/internal/testkit"
)

// counting answers as Anthropic's API does, and counts what it serves.
type counting struct {
	*httptest.Server
	mu     sync.Mutex
	logins map[string]int
	calls  int
	tokens int64
}

const (
	vendorReads  = 40
	vendorWrites = 7
)

func newCounting(t *testing.T) *counting {
	t.Helper()
	v := &counting{logins: map[string]int{}}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.calls++
		v.tokens += vendorReads + vendorWrites
		v.logins[r.Header.Get("X-Api-Key")]++
		w.Header().Set("Content-Type", "text/event-stream")
		writeAnthropic(w, &reply{in: vendorReads, out: vendorWrites})
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *counting) served() (calls int, tokens int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.calls, v.tokens
}

// drivenBy is a stage whose agents a program drives that asks this vendor.
func drivenBy(t *testing.T, v *counting, more string, settings ...string) *stage {
	t.Helper()
	s := driven(t)
	file := filepath.Join(filepath.Dir(s.db), "home", ".config", "ramet", "config.toml")
	text := testkit.Must(os.ReadFile(file))(t)
	text = []byte(strings.Replace(string(text), "asks = true\n", "asks = true\nbases = { ANTHROPIC_BASE_URL = \"anthropic\" }\n"+more, 1))
	text = []byte(strings.Replace(string(text), `"resume fork"`, `"resume fork http"`, 1))
	text = append([]byte(strings.Join(settings, "\n")+"\n"), text...)
	text = append(text, "ANTHROPIC_BASE_URL = \""+v.URL+"\"\nFAKE_LOGIN = \"their-own-login\"\n"...)
	testkit.OK(t, os.WriteFile(file, text, 0o600))
	return s
}

// What a program spends is counted on the way, whatever it reports; its login passes, and stands
// nowhere.
func TestADriverSpendsThroughTheGateway(t *testing.T) {
	t.Parallel()
	v := newCounting(t)
	s := drivenBy(t, v, "")
	s.must(t, "fork", "--name", "kid", "--driver", "fake")
	s.must(t, "exec", "kid", "ask 3")
	log := s.must(t, "log", "kid", "--own", "--json")
	if strings.Contains(log, "mismatch") {
		t.Errorf("what it reported is what was served:\n%s", log)
	}
	s.must(t, "exec", "kid", "lie 1")
	log = s.must(t, "log", "kid", "--own", "--json")
	for what, want := range map[string]int{`"attested":"wire","name":"fake"}`: 4, `"command":"mismatch"`: 1, "reported 125 tokens, and 47 went over the wire\",\"parts": 1} {
		if got := strings.Count(log, what); got != want {
			t.Errorf("%s stands %d times, not %d:\n%s", what, got, want, log)
		}
	}
	calls, tokens := v.served()
	if spent := s.spent(t, "kid"); spent.Tokens != tokens || calls != 4 || spent.Cost == 0 {
		t.Errorf("%+v were counted, and %d served by %d calls", spent, tokens, calls)
	}
	if v.logins["their-own-login"] != 4 {
		t.Errorf("logins: %v", v.logins)
	}
	if strings.Contains(log, "their-own-login") {
		t.Error("the login is recorded")
	}
	// Its way to its model is a secret of its own: programs tell it, and it stands nowhere.
	out := s.ramet("exec", "kid", "--json", "blab fail")
	log = s.must(t, "log", "kid", "--own", "--json")
	for _, all := range []string{out.stderr, log} {
		if strings.Contains(all, "127.0.0.1") || !strings.Contains(all, "[redacted:gateway]") {
			t.Errorf("its address is told:\n%s", all)
		}
	}
	if usage := s.must(t, "usage"); !strings.Contains(usage, "188 ($") || !strings.Contains(usage, "266 ($") {
		t.Errorf("usage:\n%s", usage)
	}
	if ps := s.must(t, "ps"); !strings.Contains(ps, "fake; 188 tokens on the wire, 266 reported") {
		t.Errorf("ps:\n%s", ps)
	}
	s.must(t, "verify")
}

type spent struct {
	Tokens int64
	Cost   int64 `json:"cost_nano_usd"`
}

func (s *stage) spent(t *testing.T, name string) spent {
	t.Helper()
	var all struct {
		Agents []struct {
			Name  *string
			Spent spent
		}
	}
	testkit.OK(t, json.Unmarshal([]byte(s.must(t, "ps", "--all", "--json")), &all))
	for _, a := range all.Agents {
		if a.Name != nil && *a.Name == name {
			return a.Spent
		}
	}
	t.Fatalf("there is no agent %s", name)
	return spent{}
}

// A program in the box, too, acts on agents as its agent: it mails, forks, and kills those below it
// alone; it ends itself with a letter to its parent.
func TestADriverUsesRametsTools(t *testing.T) {
	t.Parallel()
	for _, box := range []string{"box = false\n", "box = true\n"} {
		v := newCounting(t)
		s := drivenBy(t, v, box)
		s.must(t, "fork", "--name", "elder")
		s.must(t, "fork", "elder", "--name", "kid", "--driver", "fake")
		s.must(t, "exec", "kid", `tool send {"to":"elder","body":"a letter of mine"}`)
		if mail := s.must(t, "mail", "elder", "--json"); !strings.Contains(mail, "a letter of mine") {
			t.Errorf("%s: the letter did not come: %s\n%s", box, mail, s.must(t, "log", "kid", "--own", "--json"))
		}
		if told := s.must(t, "exec", "kid", `tool fork {"name":"grandchild"}`); !strings.Contains(told, "grandchild") {
			t.Errorf("%s: it forked %s", box, told)
		}
		if told := s.must(t, "exec", "kid", `tool kill {"agent":"elder"}`); !strings.Contains(told, "DENIED") {
			t.Errorf("%s: it killed its parent: %s", box, told)
		}
		if told := s.must(t, "exec", "kid", `tool kill {"agent":"grandchild"}`); strings.Contains(told, "error[") {
			t.Errorf("%s: it kills its child: %s", box, told)
		}
		s.ramet("exec", "kid", `tool exit {"result":"my last words"}`) // it ends in the middle of its turn
		if mail, all := s.must(t, "mail", "elder", "--json"), s.must(t, "ps"); !strings.Contains(mail, "my last words") || strings.Contains(all, "kid") {
			t.Errorf("%s: it did not exit: %s\n%s", box, mail, all)
		}
		if err := s.quiet(patience); err != nil {
			t.Error(err)
		}
		s.must(t, "verify")
	}
}

// Bodies are kept where the user says so, without secrets; a call that does not fit is lowered where
// the user says so.
func TestADriversCallsAreKeptAndLowered(t *testing.T) {
	t.Parallel()
	v := newCounting(t)
	s := drivenBy(t, v, "", `gateway_bodies = "yes"`, `budget_clamp = "yes"`)
	s.must(t, "fork", "--name", "kid", "--driver", "fake")
	told := s.must(t, "exec", "kid", "--max-tokens", "40000", "ask 1 big")
	log := s.must(t, "log", "kid", "--own", "--json")
	if !strings.Contains(told, "200 ") || !strings.Contains(log, `"asked":50000`) || !strings.Contains(log, `\"max_tokens\":4096`) || !strings.Contains(log, "message_start") {
		t.Errorf("it says %s\n%s", told, log)
	}
	if strings.Contains(log, somebodysKey()) {
		t.Error("a secret is kept")
	}
	s.must(t, "verify")
}
