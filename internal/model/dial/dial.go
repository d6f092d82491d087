// Package dial opens a model by its name. It is the only place that imports the vendors' adapters, and it
// stacks the decorators:
//
//	record            one record for each call, however often it was sent
//	  resume          continues an answer that the vendor paused
//	    retry         repeats what failed for a temporary reason
//	      structured  continues without a schema that was refused
//	        sight     leaves out images that the model cannot read
//	          queue   limits how many calls run at the same time
//	            adapter speaks the vendor's protocol, or is the built-in model
//
// It also asks servers which models they have (only lists, and a key goes to its vendor's host only; a
// server on this machine that no setting names is found, and never used unasked), obtains access tokens of
// Google's cloud (from a key file, the metadata server or a command; once for all callers, and again
// shortly before they expire), and signs requests for Amazon.
package dial

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/anthropic"
	"ramet/internal/model/catalog"
	"ramet/internal/model/chat"
	"ramet/internal/model/decorate"
	"ramet/internal/model/gemini"
	"ramet/internal/model/llm"
	"ramet/internal/model/offline"
	"ramet/internal/model/responses"
	"ramet/internal/model/wire"
)

// Access holds a vendor's address and credentials.
type Access struct {
	Key  string // empty: none
	Base string // base URL; empty: the vendor's own
	// AWS signs requests to Amazon where there is no key; Region is for base URLs
	// that name none.
	AWS    AWSCredentials
	Region string
	// Project and Location are those of Google's cloud.
	Project, Location string
	// Token gives one that goes along with requests for lists where there is no key; nil: none does.
	Token func(context.Context) (string, error)
}

// Options are the dependencies of Model.
type Options struct {
	Access Access
	// Tokens are asked for one before each call, where they take the place of a key.
	Tokens   *GoogleSource
	Retry    decorate.RetryOptions
	Queue    *decorate.Queue   // that all calls of a kernel share; nil: none waits
	Recorder decorate.Recorder // nil: nothing is recorded
	First    time.Duration     // until the first byte of an answer; 0: wire.First, for a local server LocalFirst
	Stall    time.Duration     // between two of them; 0: wire.Stall, for a local server LocalStall
	HTTP     http.RoundTripper // nil: the usual one
	Now      func() time.Time
	// Script opens script/PATH, a model that says what a file tells it. For tests: no user means a file when
	// naming a model. nil: there are none.
	Script func(path string) (llm.Provider, error)
}

// A local server may have to load a model and read a long prompt on a slow
// machine before it says anything, and to ask again would throw that work away.
const (
	LocalFirst = 10 * time.Minute
	LocalStall = 2 * time.Minute
)

// Script is the vendor of scripted models. No catalog lists it.
const Script = "script"

// Choose is catalog.Choose, which also takes script/PATH where scripts are
// allowed.
func Choose(asked string, usable func(catalog.Vendor) bool, scripts bool) (llm.Ref, error) {
	if ref, err := llm.ParseRef(asked); err == nil && scripts && ref.Vendor == Script {
		return ref, nil
	}
	return catalog.Choose(asked, usable)
}

// Model opens the vendor of a model; the request names the model. Nothing is
// sent before the first call. A vendor that needs a key and has none is
// PROVIDER_AUTH, a base URL that is none INVALID_CONFIG. A script is read anew each
// time, and begins with its first reply.
func Model(ref llm.Ref, o Options) (llm.Provider, error) {
	if o.Script != nil && ref.Vendor == Script {
		p, err := o.Script(ref.Name)
		if err != nil {
			return nil, err
		}
		return Stack(p, catalog.Vendor{Name: Script, Local: true}, o), nil
	}
	v, err := catalog.Find(ref.Vendor)
	if err != nil {
		return nil, err
	}
	if v.BuiltIn {
		if _, known := v.Model(ref.Name); !known {
			return nil, fault.New(fault.NotFound, "%s has no model %.40q", v.Name, ref.Name).WithHint("it has one: %s/%s", v.Name, v.Table().Default)
		}
		return Stack(offline.New(), v, o), nil
	}
	// Proxies and local servers need no key.
	if v.Google {
		v.Project, v.Location = o.Access.Project, o.Access.Location
	}
	if v.Google && v.Project == "" {
		return nil, fault.New(fault.InvalidConfig, "no project is configured for %s", v.Name).
			WithHint("set GOOGLE_CLOUD_PROJECT, or project in [vendors.%s] of your configuration", v.Name)
	}
	if o.Access.Key == "" && o.Access.Base == "" && !v.Local && !v.Free && o.Tokens == nil {
		return nil, fault.New(fault.ProviderAuth, "%w", &llm.MissingKey{Vendor: v.Name, Variable: v.KeyVariable()}).
			WithHint("set %s, or store one with `ramet auth set %s`", v.KeyVariable(), v.KeyOwner())
	}
	if strings.ContainsFunc(o.Access.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fault.New(fault.ProviderAuth, "the key for %s contains spaces or other characters that no key has", v.Name).
			WithHint("set %s again, or `ramet auth set %s`", v.KeyVariable(), v.KeyOwner())
	}
	base, err := v.URL(o.Access.Base)
	if err != nil {
		return nil, err
	}
	if v.Local && o.First == 0 {
		o.First = LocalFirst
	}
	if v.Local && o.Stall == 0 {
		o.Stall = LocalStall
	}
	w := wire.Options{Vendor: v.Name, Base: base, Key: o.Access.Key, Header: v.Header, First: o.First, Stall: o.Stall, Once: v.Local, HTTP: o.HTTP,
		Model: func(name string) llm.Model { m, _ := v.Model(name); return m }}
	if a := o.Access; v.Framed && a.Key == "" && a.AWS.ID != "" {
		now := o.Now
		if now == nil {
			now = time.Now
		}
		w.Sign = NewAWSSigner(a.AWS, a.Region, now)
	}
	if t := o.Tokens; t != nil && o.Access.Key == "" {
		w.Secret = t.Last
		w.Sign = func(r *http.Request, _ []byte) error {
			token, err := t.Token(r.Context())
			if err == nil {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			return err
		}
	}
	var p llm.Provider
	switch speaks := v.Speaks(ref.Name); {
	case v.Google && speaks == catalog.Anthropic:
		p = anthropic.At(w, anthropic.Host{Below: v.Below("anthropic")})
	case v.Google:
		p = gemini.At(w, v.Below("google"))
	case speaks == catalog.Anthropic:
		p = anthropic.At(w, anthropic.Host{Framed: v.Framed})
	case speaks == catalog.Responses:
		p = responses.New(w)
	case speaks == catalog.Gemini:
		p = gemini.New(w)
	default:
		p = chat.New(w, chat.Dialect{Thoughts: v.Thoughts, LongLimit: v.KeyOwner() == "openai", CacheKey: v.KeyOwner() == "openai", Marks: v.Marks, Cost: v.Cost, Forms: v.Forms, Plugin: v.Plugin})
	}
	return Stack(p, v, o), nil
}

// Stack puts the decorators around a provider.
func Stack(p llm.Provider, v catalog.Vendor, o Options) llm.Provider {
	if o.Queue != nil {
		p = o.Queue.At(v.Name, p)
	}
	p = decorate.WithResume(decorate.WithRetry(decorate.WithStructured(decorate.WithSight(p, func(name string) llm.Model { m, _ := v.Model(name); return m })), o.Retry))
	if o.Recorder != nil {
		p = decorate.WithRecord(p, decorate.RecordOptions{Vendor: v.Name, Recorder: o.Recorder, Price: v.Price, Now: o.Now})
	}
	return p
}

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
