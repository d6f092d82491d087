package dial

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// AWSCredentials are those of a user of Amazon's cloud.
type AWSCredentials struct {
	ID, Secret, Session string // the last is empty for lasting ones
}

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
		where := cmp.Or(AWSRegion(r.URL.Hostname()), region)
		if where == "" {
			return fault.New(fault.InvalidConfig, "no region is configured for Bedrock").WithHint("set AWS_REGION")
		}
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		r.Header.Set("X-Amz-Content-Sha256", hash)
		who := aws.Credentials{AccessKeyID: c.ID, SecretAccessKey: c.Secret, SessionToken: c.Session}
		return v4.NewSigner().SignHTTP(r.Context(), who, r, hash, "bedrock", where, now().UTC())
	}
}
