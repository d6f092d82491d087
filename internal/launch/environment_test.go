package launch

import (
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
)

func permit(t *testing.T, names ...string) {
	t.Helper()
	was := permitted.Load()
	t.Cleanup(func() { permitted.Store(was) })
	if err := PermitVariables(names); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyWhatIsKnownOrNamedIsHandedOn(t *testing.T) {
	env := []string{
		"PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "LC_ALL=C", "LC_=", "NPM_TOKEN=x", "DATABASE_URL=postgres://u:p@h/d", "PGPASSWORD=x", "SSH_AUTH_SOCK=/run/a",
		"GITHUB_TOKEN=x", "ANTHROPIC_API_KEY=x", "RAMET_DB=x", "=C:=C:\\", "noequals", "GOFLAGS=-mod=mod", "HTTPS_PROXY=http://u:p@proxy:1", "http_proxy=http://proxy:1/a@b",
		"GOPROXY=https://a.example|https://token@b.example", "PATHS=x", "PAT=x", "VAULT_ADDR=https://u@v", "VAULT_TOKEN=x", "path=x",
	}
	check := func(got []string, want string) {
		t.Helper()
		if strings.Join(got, " ") != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	const plain = "PATH=/bin LC_ALL=C LC_= GOFLAGS=-mod=mod http_proxy=http://proxy:1/a@b"
	check(EnvironmentFor(env), plain)
	check(ReachingVariables(env), "PATH=/bin LC_ALL=C LC_= SSH_AUTH_SOCK=/run/a GOFLAGS=-mod=mod http_proxy=http://proxy:1/a@b")
	permit(t, "VAULT_*", "HTTPS_PROXY")
	check(EnvironmentFor(env), plain[:len("PATH=/bin LC_ALL=C LC_= GOFLAGS=-mod=mod")]+" HTTPS_PROXY=http://u:p@proxy:1 http_proxy=http://proxy:1/a@b VAULT_ADDR=https://u@v VAULT_TOKEN=x")
}

// No word that stands for a secret is in the tables.
func TestTheTablesNameNoSecret(t *testing.T) {
	for _, name := range slices.Concat(work, reach) {
		for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH"} {
			known := name == "SSH_AUTH_SOCK" || name == "XAUTHORITY" || name == "PASSWORD_STORE_DIR" || strings.HasPrefix(name, "GIT_AUTHOR")
			if strings.Contains(strings.ToUpper(name), word) && !known {
				t.Errorf("%s sounds like a secret", name)
			}
		}
	}
}

func TestNamesAreChecked(t *testing.T) {
	for _, bad := range []string{"", "*", "A=b", "A B", "1A", "A**", "A\n", "ä"} {
		if err := PermitVariables([]string{"GOOD", bad}); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if permitted.Load() != nil {
		t.Error("a refused list was taken")
	}
}
