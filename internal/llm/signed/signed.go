// Package signed signs requests as Amazon wants it (Signature Version 4), with the
// signer of its SDK and nothing else of it.
package signed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"ramet/internal/fault"
	"ramet/internal/late"
)

// Credentials are those of a user of Amazon's cloud.
type Credentials struct {
	ID, Secret, Session string // the last is empty for lasting ones
}

// service is what Bedrock is called in signatures.
const service = "bedrock"

var host = late.Regexp(`^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com`)

// Region is the one that a base URL of Bedrock names; empty if it names none.
func Region(hostname string) string {
	if m := host.Get().FindStringSubmatch(hostname); m != nil {
		return m[1]
	}
	return ""
}

// Signer gives a function that signs a request with its body. region is the one to
// sign for where the host names none.
func Signer(c Credentials, region string, now func() time.Time) func(*http.Request, []byte) error {
	signer := v4.NewSigner()
	return func(r *http.Request, body []byte) error {
		where := Region(r.URL.Hostname())
		if where == "" {
			where = region
		}
		if where == "" {
			return fault.New(fault.InvalidConfig, "nobody says in which region Bedrock is asked").WithHint("set AWS_REGION")
		}
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		r.Header.Set("X-Amz-Content-Sha256", hash)
		return signer.SignHTTP(context.Background(), aws.Credentials{AccessKeyID: c.ID, SecretAccessKey: c.Secret, SessionToken: c.Session},
			r, hash, service, where, now().UTC())
	}
}
