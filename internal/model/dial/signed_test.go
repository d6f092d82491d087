package dial

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

var at = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func sign(t *testing.T, url, region, body string, c AWSCredentials) (http.Header, error) {
	t.Helper()
	r := testkit.Must(http.NewRequest(http.MethodPost, url, strings.NewReader(body)))(t)
	err := NewAWSSigner(c, region, at)(r, []byte(body))
	return r.Header, err
}

func TestRequestsAreSigned(t *testing.T) {
	const url = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/invoke-with-response-stream"
	lasting := AWSCredentials{ID: "AKIAEXAMPLE", Secret: "secret"}
	first := testkit.Must(sign(t, url, "us-east-1", "{}", lasting))(t)
	got := first.Get("Authorization")
	if !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/20260102/eu-central-1/bedrock/aws4_request, ") ||
		!strings.Contains(got, "x-amz-content-sha256") || first.Get("X-Amz-Security-Token") != "" || strings.Contains(got, "secret") {
		t.Errorf("%v", first)
	}
	other, _ := sign(t, url, "us-east-1", `{"a":1}`, lasting)
	if other.Get("Authorization") == got {
		t.Error("the body is not signed")
	}
	passing, _ := sign(t, "http://127.0.0.1:1/model/x", "us-west-2", "{}", AWSCredentials{"ASIAEXAMPLE", "secret", "session"})
	if passing.Get("X-Amz-Security-Token") != "session" || !strings.Contains(passing.Get("Authorization"), "/us-west-2/bedrock/") {
		t.Errorf("%v", passing)
	}
	if _, err := sign(t, "http://127.0.0.1:1/", "", "{}", lasting); !fault.Is(err, fault.InvalidConfig) {
		t.Error(err)
	}
}
