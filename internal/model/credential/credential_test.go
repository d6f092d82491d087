package credential

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
	"ramet/internal/model/catalog"
	"ramet/internal/testkit"
)

const value = "sk-test-0123456789abcdef"

func environment(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func vendor(t *testing.T, name string) catalog.Vendor {
	t.Helper()
	v := testkit.Must(catalog.Find(name))(t)
	return v
}

func open(t *testing.T, env func(string) string, home string) *Store {
	t.Helper()
	s := testkit.Must(Open(env, home))(t)
	return s
}

func TestTheEnvironmentWinsOverTheFile(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	testkit.OK(t, Set(t.Context(), home, "openai", value))
	s := open(t, environment(), home)
	if a := s.Access(vendor(t, "openai")); a.Key.Reveal() != value || a.KeyFrom != Path(home) {
		t.Errorf("from the file: %q %s", a.Key.Reveal(), a.KeyFrom)
	}
	s = open(t, environment("OPENAI_API_KEY", " other-key\n", "OPENAI_BASE_URL", "http://h/v1"), home)
	for _, name := range []string{"openai", "openai-chat"} { // they share a key
		a := s.Access(vendor(t, name))
		if a.Key.Reveal() != "other-key" || a.KeyFrom != "OPENAI_API_KEY" || a.Base != "http://h/v1" || a.BaseFrom != "OPENAI_BASE_URL" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := s.Access(vendor(t, "anthropic")); !a.Key.IsZero() || a.KeyFrom != "" {
		t.Errorf("anthropic: %+v", a)
	}
}

func TestWhatIsUsableAndWhyNot(t *testing.T) {
	s := open(t, environment("GEMINI_API_KEY", value, "OLLAMA_BASE_URL", "http://localhost:11434"), t.TempDir())
	for name, want := range map[string]string{
		"gemini": "", "ollama": "", "offline": "", "anthropic": "no key: set ANTHROPIC_API_KEY or `ramet auth set anthropic`",
		"openai-chat": "no key: set OPENAI_API_KEY or `ramet auth set openai`",
		"vllm":        "not configured: set VLLM_BASE_URL (its usual address is http://127.0.0.1:8000/v1)",
	} {
		if ok, why := s.Usable(vendor(t, name)); why != want || ok != (want == "") {
			t.Errorf("%s: %v %q", name, ok, why)
		}
	}
}

func TestAKeyDoesNotPrint(t *testing.T) {
	s := open(t, environment("OPENAI_API_KEY", value), t.TempDir())
	a := s.Access(vendor(t, "openai"))
	asJSON := testkit.Must(json.Marshal(a))(t)
	for _, text := range []string{fmt.Sprint(a), fmt.Sprintf("%+v %#v %s %q", a, a.Key, a.Key, a.Key), string(asJSON)} {
		if strings.Contains(text, value) {
			t.Errorf("printed: %s", text)
		}
	}
	if got := secret.New(s.Values()).Own("key is " + value); got != "key is [redacted:OPENAI_API_KEY]" {
		t.Errorf("redacted: %s", got)
	}
}

func TestValuesHaveBothWhereBothAreSet(t *testing.T) {
	home := t.TempDir()
	testkit.OK(t, Set(t.Context(), home, "openai", "file-"+value))
	got := open(t, environment("OPENAI_API_KEY", "env-"+value), home).Values()
	want := map[string]string{"OPENAI_API_KEY": "env-" + value, "OPENAI_API_KEY.file": "file-" + value}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestSetAndRemoveChangeOneLine(t *testing.T) {
	home := t.TempDir()
	var wg sync.WaitGroup
	for _, v := range []string{"anthropic", "openai", "gemini", "groq"} {
		wg.Go(func() {
			if err := Set(t.Context(), home, v, `q"\`+v); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	testkit.OK(t, Remove(t.Context(), home, "groq"))
	s := open(t, environment(), home)
	for _, v := range []string{"anthropic", "openai", "gemini"} {
		if got := s.Access(vendor(t, v)).Key.Reveal(); got != `q"\`+v {
			t.Errorf("%s: %q", v, got)
		}
	}
	if s.Stored("groq") || !s.Stored("gemini") {
		t.Error("the wrong line went")
	}
	info, err := os.Stat(Path(home))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}

func TestNothingIsMadeForNothing(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := Remove(t.Context(), home, "openai"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("a home was made")
	}
}

func TestBadFilesAreRefusedAndNotRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"others may read it": {`openai = "` + value + `"`, 0o640, "can be read or written by others (mode 640)"},
		"others may write":   {`openai = "` + value + `"`, 0o602, "(mode 602)"},
		"no TOML":            {"# a\nopenai = " + value, 0o600, "credentials.toml:2: not understood"},
		"a table":            {"[openai]\nkey = \"" + value + "\"", 0o600, "not understood"},
		"an unknown vendor":  {value + ` = "x"`, 0o600, "a line is for no vendor"},
		"a key for nobody":   {`offline = "` + value + `"`, 0o600, "a line is for no vendor"},
		"no key of its own":  {`openai-chat = "` + value + `"`, 0o600, "a line is for no vendor"},
		"a key with spaces":  {`openai = "` + value + ` x"`, 0o600, "what stands for openai is not a key"},
		"too large":          {strings.Repeat("# "+value+"\n", 1<<16), 0o600, "has more than"},
	} {
		home := t.TempDir()
		testkit.OK(t, os.WriteFile(Path(home), []byte(c.text), 0o600))
		testkit.OK(t, os.Chmod(Path(home), c.mode))
		_, err := Open(environment(), home)
		if !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", name, err)
		}
		if err := Set(t.Context(), home, "groq", "x"); err == nil {
			t.Errorf("%s: written over", name)
		}
	}
	home := t.TempDir()
	testkit.OK(t, os.Mkdir(Path(home), 0o700))
	if _, err := Open(environment(), home); !fault.Is(err, fault.InvalidConfig) {
		t.Errorf("a folder: %v", err)
	}
}

func TestWhatIsNoKey(t *testing.T) {
	for _, key := range []string{"", " ", "a b", "a\nb", "ключ", "\x1b[2J", strings.Repeat("x", maxKey+1)} {
		if err := CheckKey(key); !fault.Is(err, fault.InvalidText) {
			t.Errorf("%.20q: %v", key, err)
		}
	}
}
