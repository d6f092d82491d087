package dial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"ramet/internal/base/fault"
)

var at = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func sign(t *testing.T, url, region, body string, c AWSCredentials) (http.Header, error) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	err = NewAWSSigner(c, region, at)(r, []byte(body))
	return r.Header, err
}

func TestRequestsAreSigned(t *testing.T) {
	const url = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/invoke-with-response-stream"
	lasting := AWSCredentials{ID: "AKIAEXAMPLE", Secret: "secret"}
	first, err := sign(t, url, "us-east-1", "{}", lasting)
	if err != nil {
		t.Fatal(err)
	}
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

// Requests of many forms have the headers that Amazon's own signer gives them.
func TestSignaturesAreThoseOfAmazonsSigner(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for i := range 3000 {
		address := pick("http", "https") + "://" + pick("bedrock-runtime.eu-central-1.amazonaws.com", "bedrock-runtime.us-east-1.amazonaws.com:443", "127.0.0.1:1", "[::1]:8080", "Host.Example") +
			pick("", "/", "/model/us.anthropic.claude-x-v1%3A0/invoke", "/a b/c", "/a//b/../c/", "/%E4%B8%AD/~_-.!*'()", "/x;y=1,2@3&4+5") + pick("", "?", "?b=2&a=1&a=0", "?q=a%20b+c&empty=", "?q=%7E*'()!")
		body := strings.Repeat("x", random.IntN(3)*random.IntN(50))
		c := AWSCredentials{ID: "AKIA" + pick("A", "B"), Secret: pick("s", "s/+="), Session: pick("", "session+/=")}
		ours, err := http.NewRequest(pick("POST", "GET"), address, strings.NewReader(body))
		if err != nil {
			t.Fatal(address, err)
		}
		for range random.IntN(6) {
			ours.Header.Add(pick("Content-Type", "Accept", "X-Amzn-Bedrock-Accept", "User-Agent", "X-Amzn-Trace-Id", "Expect", "X-Many", "x-small"), pick("a", " b  c ", "application/json", "", "  ", "a   b    c", "\t d\t e"))
		}
		ours.Host = pick(ours.Host, ours.Host, "other.example:443", "")
		theirs := ours.Clone(context.Background())
		moment := time.Unix(1_700_000_000+random.Int64N(1e8), 0)
		if err := NewAWSSigner(c, "us-west-2", func() time.Time { return moment })(ours, []byte(body)); err != nil {
			t.Fatal(err)
		}
		where := AWSRegion(theirs.URL.Hostname())
		if where == "" {
			where = "us-west-2"
		}
		hash := hexOf([]byte(body))
		theirs.Header.Set("X-Amz-Content-Sha256", hash)
		if err := v4.NewSigner().SignHTTP(context.Background(), aws.Credentials{AccessKeyID: c.ID, SecretAccessKey: c.Secret, SessionToken: c.Session}, theirs, hash, service, where, moment.UTC()); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(ours.Header, theirs.Header) {
			t.Fatalf("%d: %s %s\n%s\n%v\nAmazon's:\n%v", i, ours.Method, address, fmt.Sprintf("%q", ours.Host), url.Values(ours.Header), url.Values(theirs.Header))
		}
	}
}
