package secret

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"
)

// Made up, and in pieces so that no scanner takes them for real.
const (
	githubToken = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
	awsKey      = "AKIA" + "QYLPMN5HFIQR7XYA"
	privateKey  = "-----BEGIN " + "PRIVATE KEY-----\n" +
		"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n" +
		"MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n" +
		"-----END " + "PRIVATE KEY-----"
)

func TestAllFindsKnownFormats(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"github":       {"git clone https://" + githubToken + " x", "git clone https://[redacted:github-pat] x"},
		"aws":          {"id " + awsKey + " and " + awsKey + ".", "id [redacted:aws-access-token] and [redacted:aws-access-token]."},
		"private key":  {"a\n" + privateKey + "\nb", "a\n[redacted:private-key]\nb"},
		"generic":      {"db_password = 'x7Kq9Zp2Lm4Wn8Rt'", "db_password = '[redacted:generic-api-key]'"},
		"json":         {`{"api_key":"x7Kq9Zp2Lm4Wn8Rt","n":1}`, `{"api_key":"[redacted:generic-api-key]","n":1}`},
		"elsewhere":    {"token: x7Kq9Zp2Lm4Wn8Rt\nsee x7Kq9Zp2Lm4Wn8Rt", "token: [redacted:generic-api-key]\nsee [redacted:generic-api-key]"},
		"own as well":  {apiKey + " " + githubToken, "[redacted:API_KEY] [redacted:github-pat]"},
		"with remark":  {"t = " + githubToken + " # gitleaks:allow", "t = [redacted:github-pat] # gitleaks:allow"},
		"no UTF-8":     {"\xff " + githubToken + "\xfe", "\xff [redacted:github-pat]\xfe"},
		"already done": {"t = [redacted:github-pat]", "t = [redacted:github-pat]"},
	} {
		if got := sample().All(c.in); got != c.want {
			t.Errorf("%s: %q\n got %q\nwant %q", name, c.in, got, c.want)
		}
	}
}

func TestTextWithoutSecretsIsLeftAlone(t *testing.T) {
	r := sample()
	for _, text := range []string{
		"", "\n", "\x00\xff", "The key is under the mat; the password is a secret.",
		`{"usage":{"input_tokens":1234,"output_tokens":99},"hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`,
		"func token(key string) (secret string, err error) { return auth[key], nil }\r\n",
		"export API_KEY=$SECRET_KEY\npassword: ${PASSWORD}\n",
		"https://example.com/a%20b?c=%C3%A4",
	} {
		if got := r.All(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The rules are decoded here, not by gitleaks; none may get lost on the way.
func TestTheRulesAreThoseOfGitleaks(t *testing.T) {
	theirs, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	ours := maps.Clone(known().specific.Config.Rules)
	maps.Copy(ours, known().generic.Config.Rules)
	if len(ours) != len(theirs.Config.Rules) || len(ours) < 200 {
		t.Errorf("%d rules, gitleaks has %d", len(ours), len(theirs.Config.Rules))
	}
	for id, want := range theirs.Config.Rules {
		got := ours[id]
		same := got.Entropy == want.Entropy && got.SecretGroup == want.SecretGroup &&
			slices.Equal(got.Keywords, want.Keywords) && len(got.Allowlists) == len(want.Allowlists) &&
			(got.Regex == nil) == (want.Regex == nil) && (got.Path == nil) == (want.Path == nil)
		if !same || got.Regex != nil && got.Regex.String() != want.Regex.String() {
			t.Errorf("%s differs", id)
			continue
		}
		for i, a := range got.Allowlists {
			b := want.Allowlists[i]
			if len(a.Regexes) != len(b.Regexes) || len(a.StopWords) != len(b.StopWords) || a.RegexTarget != b.RegexTarget {
				t.Errorf("%s: allowlist %d differs", id, i)
			}
		}
	}
	if len(known().specific.Config.Allowlists) != len(theirs.Config.Allowlists) {
		t.Error("the global allowlist differs")
	}
	words := slices.Sorted(slices.Values(theirs.Config.Rules[genericRule].Keywords))
	if !slices.Equal(words, slices.Sorted(slices.Values(genericWords))) {
		t.Errorf("the generic rule's words are now %v", words)
	}
}

// The generic rule sees pieces of a text; it must find there what it finds in
// the whole.
func TestThePiecesAreEnoughForTheGenericRule(t *testing.T) {
	const value = "x7Kq9Zp2Lm4Wn8Rt"
	filler := strings.Repeat("Some words, 42 of them: nothing = here. ", 3)
	for _, word := range []string{"creds", "API", "MY_SECRET_TOKEN"} {
		for _, between := range []string{"", "_of_the_main_server", " x.y-z ", `"`, "'\n "} {
			for _, op := range []string{"=", ">", ":=", "::=", ":::=", "||", ":", "=>", "?=", ","} {
				for _, quote := range []string{"", "'", "`", `" `, " = ", "\n\t\r\n="} {
					text := filler + word + between + op + quote + value + "\n" + filler
					if !whole(text) {
						continue
					}
					if got := sample().All(text); strings.Contains(got, value) {
						t.Errorf("missed in %q", word+between+op+quote+value)
					}
				}
			}
		}
	}
}

// whole says whether the generic rule finds anything in the text as a whole.
func whole(text string) bool { return len(known().generic.DetectString(text)) > 0 }

func FuzzThePiecesAreEnough(f *testing.F) {
	f.Add("token", ": ", "x7Kq9Zp2Lm4Wn8Rt")
	f.Add("to\u212aen key", "\"=>`", "x7Kq9Zp2Lm4W\u017fn8Rt+/==")
	f.Fuzz(func(t *testing.T, word, op, value string) {
		text := "a " + word + op + value + "\n"
		if whole(text) && len(assignments(text)) == 0 {
			t.Errorf("no piece of %q", text)
		}
	})
}

// outVar makes the test binary redact as any other process would: from the
// first use of the rules on.
const outVar = "SECRET_TEST_OUT"

func TestMain(m *testing.M) {
	if out := os.Getenv(outVar); out != "" {
		if err := os.WriteFile(out, []byte(New(nil).All("x "+githubToken)), 0o600); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Nothing is printed, and neither the folder nor the environment has a say.
func TestTheRulesAreQuietAndDeaf(t *testing.T) {
	dir := t.TempDir()
	allow := "[allowlist]\nregexes = ['''.*''']\n"
	for _, name := range []string{".gitleaks.toml", "gitleaks.toml", "config.toml", ".gitleaksignore"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(allow), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(os.Args[0])
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), outVar+"="+out,
		"GITLEAKS_CONFIG="+filepath.Join(dir, "gitleaks.toml"), "GITLEAKS_CONFIG_TOML="+allow)
	printed, err := cmd.CombinedOutput()
	if err != nil || len(printed) > 0 {
		t.Errorf("printed %q, %v", printed, err)
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != "x [redacted:github-pat]" {
		t.Errorf("redacted to %q, %v", got, err)
	}
}
