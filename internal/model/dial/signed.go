package dial

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// AWSCredentials are those of a user of Amazon's cloud.
type AWSCredentials struct {
	ID, Secret, Session string // the last is empty for lasting ones
}

// service is the name of Bedrock in signatures.
const service = "bedrock"

var endpoint = text.Regexp(`^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com`)

// AWSRegion returns the one that a base URL of Bedrock names; empty if it names none.
func AWSRegion(hostname string) string {
	if m := endpoint().FindStringSubmatch(hostname); m != nil {
		return m[1]
	}
	return ""
}

// NewAWSSigner gives a function that signs a request with its body. region is the one to
// sign for where the host names none.
func NewAWSSigner(c AWSCredentials, region string, now func() time.Time) func(*http.Request, []byte) error {
	return func(r *http.Request, body []byte) error {
		where := AWSRegion(r.URL.Hostname())
		if where == "" {
			where = region
		}
		if where == "" {
			return fault.New(fault.InvalidConfig, "nobody says in which region Bedrock is asked").WithHint("set AWS_REGION")
		}
		c.sign(r, body, where, now().UTC())
		return nil
	}
}

// unsigned are headers that may change on the way.
var unsigned = []string{"Authorization", "User-Agent", "X-Amzn-Trace-Id", "Expect", "Transfer-Encoding"}

// sign gives a request its signature: of its method, path, query, headers and body, with a key that is
// made for one day, one region and one service.
func (c AWSCredentials) sign(r *http.Request, body []byte, region string, now time.Time) {
	hash, moment := hexOf(body), now.Format("20060102T150405Z")
	r.Header.Set("X-Amz-Content-Sha256", hash)
	r.Header.Set("X-Amz-Date", moment)
	if c.Session != "" {
		r.Header.Set("X-Amz-Security-Token", c.Session)
	}
	names, headers := signedHeaders(r)
	request := strings.Join([]string{r.Method, signedPath(r.URL.EscapedPath()), signedQuery(r.URL.Query()), headers, names, hash}, "\n")

	day := moment[:8]
	scope := strings.Join([]string{day, region, service, "aws4_request"}, "/")
	key := []byte("AWS4" + c.Secret)
	for _, part := range []string{day, region, service, "aws4_request"} {
		key = computeMAC(key, part)
	}
	signature := computeMAC(key, strings.Join([]string{"AWS4-HMAC-SHA256", moment, scope, hexOf([]byte(request))}, "\n"))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.ID+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(signature))
}

// signedHeaders returns the names of the headers that are signed, and a line for each.
func signedHeaders(r *http.Request) (names, lines string) {
	all := map[string]string{"host": hostOf(r)}
	if r.ContentLength > 0 {
		all["content-length"] = strconv.FormatInt(r.ContentLength, 10)
	}
	for name, values := range r.Header {
		if slices.Contains(unsigned, http.CanonicalHeaderKey(name)) {
			continue
		}
		words := make([]string, len(values))
		for i, value := range values {
			words[i] = singleSpaced(value)
		}
		all[strings.ToLower(name)] = strings.Join(words, ",")
	}
	sorted := slices.Sorted(maps.Keys(all))
	var out strings.Builder
	for _, name := range sorted {
		out.WriteString(name + ":" + all[name] + "\n")
	}
	return strings.Join(sorted, ";"), out.String()
}

// hostOf returns the host of a request, which is sent without a port that goes without saying.
func hostOf(r *http.Request) string {
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	usual := map[string]string{"https": ":443", "http": ":80"}[r.URL.Scheme]
	r.Host = strings.TrimSuffix(r.Host, usual)
	return r.Host
}

// singleSpaced returns a value without space at its ends, and with one where there are several.
func singleSpaced(value string) string {
	for strings.Contains(value, "  ") {
		value = strings.ReplaceAll(value, "  ", " ")
	}
	return strings.TrimSpace(value)
}

// signedPath returns the path as it is sent, escaped once more: so Amazon wants it for all services but one.
func signedPath(sent string) string {
	if sent == "" {
		return "/"
	}
	var out strings.Builder
	for _, c := range []byte(sent) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			out.WriteByte(c)
		} else {
			out.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return out.String()
}

// signedQuery returns a query in order, with its spaces as Amazon writes them.
func signedQuery(q url.Values) string {
	for _, values := range q {
		slices.Sort(values)
	}
	return strings.ReplaceAll(q.Encode(), "+", "%20")
}

func hexOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func computeMAC(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
