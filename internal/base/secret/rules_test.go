package secret

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
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
		"cut short":    {"a\n" + privateKey[:120], "a\n[redacted:private-key]"},
		"in a string":  {`"` + strings.ReplaceAll(privateKey, "\n", `\n`) + `"`, `"[redacted:private-key]"`},
		"in a query":   {"?a=b&t%3D" + githubToken + "&c=d", "?a=b&t%3D[redacted:github-pat]&c=d"},
		"a header":     {"Authorization: Bearer x7Kq9Zp2Lm4Wn8Rt", "Authorization: Bearer [redacted:generic-api-key]"},
		"by its name":  {"HEROKU_API_KEY=3f2a9c41-7b6e-4d18-9a05-c8e1b27d640f", "HEROKU_API_KEY=[redacted:heroku-api-key]"},
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

// An assignment is found in whatever the languages of programs and of files put around it.
func TestAssignmentsOfEveryKind(t *testing.T) {
	const value = "x7Kq9Zp2Lm4Wn8Rt"
	filler := strings.Repeat("Some words, 42 of them: nothing = here. ", 3)
	for _, word := range []string{"creds", "API", "MY_SECRET_TOKEN"} {
		for _, between := range []string{"", "_of_the_main_server", " x.y-z ", `"`, "'\n "} {
			for _, op := range []string{"=", ">", ":=", "::=", ":::=", "||", ":", "=>", "?=", ",", `\":`} {
				for _, quote := range []string{"", "'", "`", `" `, `\"`, " = ", "\n\t\r\n="} {
					text := word + between + op + quote + value
					if got := sample().All(filler + text + "\n" + filler); strings.Contains(got, value) {
						t.Errorf("missed in %q", text)
					}
				}
			}
		}
	}
}

func TestWhatIsWrittenIsNoKey(t *testing.T) {
	r := New(nil)
	for _, text := range []string{
		"key := x509.MarshalPKCS8PrivateKey(k)",
		"token = AccessTokenVersion2Enabled",
		`"api_key": "your-api-key-goes-here-123"`,
		"secret: v1alpha1.SecretKeySelector",
		"auth = ecdsa-sha2-nistp256",
		"key = 0x9e3779b97f4a7c15",
		"password=changeme12345678",
		"token: abcdefghijklmnop123456",
		"AWS_ACCESS_KEY_ID=" + "AKIA" + "IOSFODNN7EXAMPLE",
		"sk-ant-api03-" + strings.Repeat("x", 95),
		"ghp_" + strings.Repeat("0", 36),
		"glpat-" + "your_token_goes_here",
		"-----BEGIN " + "PRIVATE KEY-----\n...\n-----END " + "PRIVATE KEY-----",
		"the line -----BEGIN " + "PRIVATE KEY----- begins what nobody else may see, whatever follows",
	} {
		if got := r.All(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
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
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(allow), 0o600))
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
