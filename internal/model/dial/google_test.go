package dial

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// office gives tokens out as Google does: to a service account that signed for it, to
// a user with a refresh token, to a machine.
type office struct {
	*httptest.Server
	key   *rsa.PrivateKey
	mu    sync.Mutex
	given int
	wrong []string
}

func open(t *testing.T) *office {
	t.Helper()
	key := testkit.Must(rsa.GenerateKey(rand.Reader, 2048))(t)
	o := &office{key: key}
	o.Server = httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(o.Close)
	return o
}

func (o *office) serve(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if why := o.check(r); why != "" {
		o.wrong = append(o.wrong, why)
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":"invalid_grant","error_description":%q}`, why)
		return
	}
	o.given++
	fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":3600,"token_type":"Bearer"}`, o.given)
}

func (o *office) check(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/computeMetadata/") {
		if r.Header.Get("Metadata-Flavor") != "Google" {
			return "no Metadata-Flavor"
		}
		return ""
	}
	r.ParseForm()
	if r.Form.Get("grant_type") == "refresh_token" {
		if r.Form.Get("refresh_token") != "again" || r.Form.Get("client_id") != "c" {
			return "unknown user"
		}
		return ""
	}
	parts := strings.Split(r.Form.Get("assertion"), ".")
	if len(parts) != 3 {
		return "no assertion"
	}
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&o.key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return "bad signature"
	}
	var claims struct {
		Iss, Aud, Scope string
		Iat, Exp        int64
	}
	b, _ := base64.RawURLEncoding.DecodeString(parts[1])
	json.Unmarshal(b, &claims)
	if claims.Iss != "me@example.org" || claims.Aud != o.URL+"/token" || !strings.Contains(claims.Scope, "cloud-platform") || claims.Exp-claims.Iat != 3600 {
		return "bad claims " + string(b)
	}
	return ""
}

func (o *office) file(t *testing.T, kind string) string {
	t.Helper()
	der := testkit.Must(x509.MarshalPKCS8PrivateKey(o.key))(t)
	b, _ := json.Marshal(map[string]string{"type": kind, "client_email": "me@example.org", "token_uri": o.URL + "/token", "private_key_id": "k",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "client_id": "c", "client_secret": "s", "refresh_token": "again"})
	path := filepath.Join(t.TempDir(), "credentials.json")
	testkit.OK(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestTokensComeFromEachSourceAndAreKept(t *testing.T) {
	o := open(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, s := range map[string]*GoogleSource{
		"service account": {File: o.file(t, "service_account")},
		"user":            {File: o.file(t, "authorized_user")},
		"metadata":        {Metadata: strings.TrimPrefix(o.URL, "http://")},
	} {
		s.Now = func() time.Time { return now }
		first, err := s.Token(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		now = now.Add(50 * time.Minute)
		if again, err := s.Token(t.Context()); err != nil || again != first || s.Last() != first {
			t.Errorf("%s: %s after %s, %v", name, again, first, err)
		}
		now = now.Add(7 * time.Minute) // it has 3 left
		if later, err := s.Token(t.Context()); err != nil || later == first {
			t.Errorf("%s: it is used to its end, %v", name, err)
		}
	}
	if len(o.wrong) > 0 {
		t.Error(o.wrong)
	}
}

func TestACommandPrintsAToken(t *testing.T) {
	s := &GoogleSource{Command: "echo $WHO-token", Env: []string{"WHO=my", "PATH=" + os.Getenv("PATH")}, File: "/nowhere"}
	if got, err := s.Token(t.Context()); err != nil || got != "my-token" {
		t.Error(got, err)
	}
	for command, want := range map[string]string{"echo no >&2; exit 3": "exit status 3: no", "echo a b": "printed no token", "true": "printed no token"} {
		_, err := (&GoogleSource{Command: command, Env: os.Environ()}).Token(t.Context())
		if !fault.Is(err, fault.ProviderAuth) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestManyWaitForOneToken(t *testing.T) {
	o := open(t)
	s := &GoogleSource{File: o.file(t, "service_account")}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := s.Token(t.Context()); got != "token-1" || err != nil {
				t.Error(got, err)
			}
		})
	}
	all.Wait()
}

func TestWhatIsRefusedHoldsNoSecret(t *testing.T) {
	o := open(t)
	bad := filepath.Join(t.TempDir(), "bad.json")
	for text, want := range map[string]string{
		`{"type":"service_account","private_key":"SECRET"}`: "private key", `SECRET`: "not JSON", `{"type":"external_account","private_key":"SECRET"}`: "external_account",
		`{"type":"authorized_user","refresh_token":"SECRET","token_uri":"` + o.URL + `/token"}`: "unknown user",
	} {
		testkit.OK(t, os.WriteFile(bad, []byte(text), 0o600))
		_, err := (&GoogleSource{File: bad}).Token(t.Context())
		if !fault.Is(err, fault.ProviderAuth) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", text, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&GoogleSource{Metadata: strings.TrimPrefix(o.URL, "http://")}).Token(ended); err == nil {
		t.Error("a token after the end")
	}
}
