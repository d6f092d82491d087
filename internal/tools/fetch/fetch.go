// Package fetch reads a page of the web for a model: GET, and text.
//
// It promises:
//
//   - Only http and https, only GET, no cookies, no credentials, no proxy, nothing of the user.
//   - No address that is not public: none of this machine, of a private network, of a link or
//     of a provider's metadata service. What counts is the address that is dialled, for each
//     connection: a name that resolves to something else the second time does not help.
//   - A redirect is followed on the same host only; one to another host is told, because
//     permission is given by host.
//   - Bounded in bytes (also unpacked), time and redirects, whatever the server does.
//   - HTML becomes Markdown, without scripts, styles and navigation; what is no text is refused
//     with what it is.
package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"ramet/internal/base/text"
	"ramet/internal/launch/proxy"
)

// The bounds, where Options do not say otherwise.
const (
	MostBytes = 4 << 20
	MostTime  = 30 * time.Second
	redirects = 5
)

// Options are for tests: what is zero is as promised.
type Options struct {
	Bytes int64
	Time  time.Duration
	// Permit lets addresses pass that are not public; nil: none.
	Permit func(netip.AddrPort) bool
}

// Page is a server's answer.
type Page struct {
	URL    string // where it was found, behind redirects
	Title  string // of HTML
	Type   string // the media type
	Status int
	Text   string // Markdown, or the text itself
	Cut    bool   // there was more
	// To is the target of a redirect to another host; nothing of it was read.
	To string
}

// Host returns what permission is given for: the host of an URL in lower case, and the port where
// it is not the usual one. An error is a sentence for the model.
func Host(raw string) (string, error) {
	u, err := parseURL(raw)
	if err != nil {
		return "", err
	}
	return hostOf(u), nil
}

func hostOf(u *url.URL) string {
	name, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if port == "" || u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		return name
	}
	return net.JoinHostPort(name, port)
}

func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%.100q is not an address: %w", raw, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%.100q is not an address of the web: it must begin with https:// or http://", raw)
	case u.Hostname() == "" || strings.ContainsAny(u.Hostname(), "%/\\ "):
		return nil, fmt.Errorf("%.100q names no host", raw)
	case u.User != nil:
		return nil, fmt.Errorf("%.100q has a user or password in it, which are not sent", u.Redacted())
	}
	u.Fragment = ""
	return u, nil
}

// errPrivate is the refusal of an address.
type errPrivate struct{ netip.Addr }

func (e errPrivate) Error() string {
	return fmt.Sprintf("%s is not a public address: this machine, private networks and the like are not read", e.Addr)
}

// Get reads a page. An error is a sentence for the model.
func Get(ctx context.Context, raw string, o Options) (Page, error) {
	u, err := parseURL(raw)
	if err != nil {
		return Page{}, err
	}
	o.Bytes = cmp.Or(o.Bytes, MostBytes)
	o.Time = cmp.Or(o.Time, MostTime)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Time, fmt.Errorf("it took longer than %s", o.Time))
	defer cancel()
	client := o.client()
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, err
	}
	request.Header.Set("User-Agent", "ramet (reads pages for a language model)")
	request.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5")
	answer, err := client.Do(request)
	if err != nil {
		return Page{}, explainFailure(ctx, u, err)
	}
	defer answer.Body.Close()
	page := Page{URL: answer.Request.URL.String(), Status: answer.StatusCode}
	if to, err := answer.Location(); err == nil && answer.StatusCode/100 == 3 {
		page.To = to.String()
		return page, nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, o.Bytes+1))
	if err != nil {
		return page, explainFailure(ctx, u, err)
	}
	if page.Cut = int64(len(body)) > o.Bytes; page.Cut {
		body = text.WholeRunes(body[:o.Bytes])
	}
	page.Type, _, _ = mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if page.Type == "" {
		page.Type, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	return page, page.read(body, answer.Header.Get("Content-Type"))
}

// client dials what is public, and nothing else.
func (o Options) client() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, dialled string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(dialled)
		if err != nil {
			return err
		}
		if !proxy.IsPublic(to.Addr()) && (o.Permit == nil || !o.Permit(to)) {
			return errPrivate{to.Addr()}
		}
		return nil
	}}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 20 * time.Second, DisableKeepAlives: true},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			first := via[0].URL
			sameHost := strings.EqualFold(next.URL.Hostname(), first.Hostname()) &&
				(next.URL.Port() == first.Port() || hasUsualPort(next.URL) && hasUsualPort(first))
			switch {
			case !sameHost, first.Scheme == "https" && next.URL.Scheme != "https", next.URL.User != nil:
				return http.ErrUseLastResponse
			case len(via) > redirects:
				return fmt.Errorf("it sends from one place to the next, more than %d times", redirects)
			}
			next.Header.Del("Referer")
			return nil
		},
	}
}

func hasUsualPort(u *url.URL) bool {
	return hostOf(u) == strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

// explainFailure returns why nothing was read.
func explainFailure(ctx context.Context, u *url.URL, err error) error {
	var private errPrivate
	var dns *net.DNSError
	switch {
	case errors.As(err, &private):
		return fmt.Errorf("%s was not read: %w", u.Hostname(), private)
	case ctx.Err() != nil:
		return fmt.Errorf("%s was not read: %w", u.Hostname(), context.Cause(ctx))
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("%s was not read: there is no such host", u.Hostname())
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%s was not read: %w", u.Hostname(), err)
}

// read sets the text of the page from a response body.
func (p *Page) read(body []byte, contentType string) error {
	switch {
	case p.Type == "text/html" || p.Type == "application/xhtml+xml":
		return p.readHTML(decodeText(body, contentType))
	case isTextual(p.Type) && bytes.IndexByte(body, 0) < 0:
		if p.Text = string(body); !utf8.Valid(body) { // valid UTF-8 is UTF-8, whatever the server declares
			p.Text = decodeText(body, contentType)
		}
		return nil
	}
	return fmt.Errorf("%s is %s of %d bytes, which is not text and is not shown. Where it is needed, download it with bash", p.URL, p.Type, len(body))
}

// decodeText converts a body to UTF-8: by its byte order mark, the server's header, the page's own declaration, or
// else as UTF-8 if it is valid and as windows-1252 if not.
func decodeText(body []byte, contentType string) string {
	encoding, name, certain := charset.DetermineEncoding(body, contentType)
	if name != "utf-8" && (certain || !utf8.Valid(body)) {
		if decoded, err := encoding.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(body), "\uFEFF"), "\uFFFD")
}

func isTextual(mediaType string) bool {
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml") {
		return true
	}
	switch mediaType {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-yaml", "application/yaml", "application/toml", "application/x-sh", "application/x-ndjson":
		return true
	}
	return false
}

// readHTML converts the main part of an HTML page to Markdown. It refuses pages whose elements nest too deep.
func (p *Page) readHTML(text string) error {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil { // the parser limits the depth to 512
		return fmt.Errorf("%s is not a page for people: %w", p.URL, err)
	}
	if title := findElement(root, atom.Title); title != nil && title.FirstChild != nil {
		p.Title = strings.Join(strings.Fields(title.FirstChild.Data), " ")
	}
	base := p.URL
	if at, err := url.Parse(p.URL); err == nil {
		if to, err := url.Parse(strings.TrimSpace(attributeOf(findElement(root, atom.Base), "href"))); err == nil {
			base = at.ResolveReference(to).String()
		}
	}
	cleanTree(root, 0)
	if p.Text, err = convertToMarkdown(mainPart(root), base); err != nil {
		return fmt.Errorf("%s could not be converted to Markdown: %w", p.URL, err)
	}
	return nil
}

// mainPart returns the main or article element if it has over a third of the words, or else the whole page.
func mainPart(root *html.Node) *html.Node {
	for _, tag := range []atom.Atom{atom.Main, atom.Article} {
		if found := findElement(root, tag); found != nil && countWords(found) > countWords(root)/3 {
			return found
		}
	}
	return root
}

func findElement(root *html.Node, tag atom.Atom) *html.Node {
	for n := range root.Descendants() {
		if n.DataAtom == tag {
			return n
		}
	}
	return nil
}

func countWords(root *html.Node) (count int) {
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			count += len(strings.Fields(n.Data))
		}
	}
	return count
}

func attributeOf(n *html.Node, key string) string {
	if n != nil {
		for _, a := range n.Attr {
			if a.Key == key {
				return a.Val
			}
		}
	}
	return ""
}
