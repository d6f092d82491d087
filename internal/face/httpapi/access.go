package httpapi

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/trust"
)

// sender is the kind of client that sent a request.
type sender int

const (
	stranger sender = iota
	holder          // has the token
	visitor         // looks at the page, with a session
	process         // an agent, with a token of its own
)

// How long things last, and how many there may be: the oldest goes for a new one.
const (
	codeTime    = 2 * time.Minute
	sessionTime = 12 * time.Hour
	maxCodes    = 16
	maxSessions = 64
)

const cookieName = "ramet_session"

// access knows which clients may ask. Secrets are kept as hashes: reading this memory, or the file of sessions,
// gives no session.
type access struct {
	token trust.Token
	now   func() time.Time
	file  string // keeps sessions; empty: they end with the server

	mu       sync.Mutex
	address  string
	codes    passes
	sessions passes
}

type passes map[[sha256.Size]byte]time.Time

func newAccess(o Options) *access {
	a := &access{token: o.Token, now: o.Now, file: o.Sessions, codes: passes{}, sessions: passes{}}
	if kept, err := readSessions(a.file); err == nil {
		a.sessions = kept.passes()
	}
	return a
}

// who returns the sender of a request, or the reason for refusing it. A session doesn't replace a wrong token: a client
// that sends a token means it.
func (a *access) who(r *http.Request) (sender, error) {
	refused := Refuse(http.StatusUnauthorized, codeUnauthenticated,
		"no valid token or session: send `Authorization: Bearer TOKEN` with the token of $RAMET_HOME/token, or open the page with `ramet web`")
	if said := r.Header.Values("Authorization"); len(said) > 0 {
		scheme, token, _ := strings.Cut(said[0], " ")
		if len(said) == 1 && strings.EqualFold(scheme, "Bearer") && a.token.Is(strings.TrimSpace(token)) {
			return holder, nil
		}
		if _, ok := a.agent(r); ok && len(said) == 1 {
			return process, nil // which few routes let in
		}
		return stranger, refused
	}
	for _, cookie := range r.CookiesNamed(cookieName) {
		if a.live(a.sessions, cookie.Value) {
			return visitor, nil
		}
	}
	return stranger, refused
}

func (a *access) agent(r *http.Request) (id.Agent, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return a.token.Agent(strings.TrimSpace(token))
}

func (a *access) login(code string) (session string, until time.Time, ok bool) {
	if !a.use(a.codes, code) {
		return "", time.Time{}, false
	}
	session, until = a.pass(a.sessions, sessionTime, maxSessions)
	_ = a.save() // a session that cannot be stored ends with the server
	return session, until, true
}

func (a *access) end(session string) error {
	if !a.use(a.sessions, session) {
		return nil
	}
	return a.save()
}

// pass makes a secret and keeps its hash.
func (a *access) pass(list passes, lasts time.Duration, most int) (string, time.Time) {
	secret := rand.Text() + rand.Text()
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	for hash, until := range list {
		if !now.Before(until) {
			delete(list, hash)
		}
	}
	for len(list) >= most {
		list.dropOldest()
	}
	until := now.Add(lasts)
	list[sha256.Sum256([]byte(secret))] = until
	return secret, until
}

func (p passes) dropOldest() {
	var oldest [sha256.Size]byte
	var ends time.Time
	for hash, until := range p {
		if ends.IsZero() || until.Before(ends) {
			oldest, ends = hash, until
		}
	}
	delete(p, oldest)
}

// live reports whether a secret is valid. It looks up a hash, so the duration reveals nothing about the secret.
func (a *access) live(list passes, secret string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := list[sha256.Sum256([]byte(secret))]
	return ok && a.now().Before(until)
}

// use is live, once.
func (a *access) use(list passes, secret string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	hash := sha256.Sum256([]byte(secret))
	until, ok := list[hash]
	delete(list, hash)
	return ok && a.now().Before(until)
}

// keptSessions is the file of sessions. It has no secret: hashes lead to no session.
type keptSessions struct {
	Address  string               `json:"address"`  // where the server listens
	Sessions map[string]time.Time `json:"sessions"` // when each ends, by the hex SHA-256 of its secret
}

func (k keptSessions) passes() passes {
	out := passes{}
	for text, until := range k.Sessions {
		var hash [sha256.Size]byte
		if n, err := hex.Decode(hash[:], []byte(text)); err == nil && n == len(hash) {
			out[hash] = until
		}
	}
	return out
}

// readSessions reads the file of sessions. One that others can change is refused.
func readSessions(path string) (out keptSessions, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return out, err
	}
	if !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return out, fs.ErrPermission
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

func (a *access) save() error {
	if a.file == "" {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	out := keptSessions{Address: a.address, Sessions: map[string]time.Time{}}
	for hash, until := range a.sessions {
		if a.now().Before(until) {
			out.Sessions[hex.EncodeToString(hash[:])] = until
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return durable.WriteFile(a.file, text, 0o600)
}

// rememberAddress notes where the server listens, for LastAddress.
func (a *access) rememberAddress(address string) {
	a.mu.Lock()
	a.address = address
	a.mu.Unlock()
	if _, err := os.Lstat(a.file); err == nil {
		_ = a.save() // then a browser asks in vain until the page is opened anew
	}
}

// LastAddress returns where the server listened that made the sessions in a file, if one of them has not
// ended: browsers still ask there. Only an address on loopback is returned.
func LastAddress(path string) (string, bool) {
	kept, err := readSessions(path)
	if err != nil {
		return "", false
	}
	host, _, err := net.SplitHostPort(kept.Address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return "", false
	}
	for _, until := range kept.Sessions {
		if time.Now().Before(until) {
			return kept.Address, true
		}
	}
	return "", false
}

// hosts are the names under which this server is asked. A page elsewhere can give our
// address a name of its own (DNS rebinding); then the Host header has that name.
// The value reports whether the user gave the name: it may be that of a proxy that speaks TLS.
type hosts map[string]bool

func newHosts(addr net.Addr, given []string) hosts {
	out := hosts{}
	_, port, _ := net.SplitHostPort(addr.String())
	add := func(name string, given bool) {
		out[strings.ToLower(net.JoinHostPort(name, port))] = given
		if port == "80" {
			out[strings.ToLower(bracket(name))] = given
		}
	}
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		add(name, false)
	}
	if own, _, err := net.SplitHostPort(addr.String()); err == nil {
		if ip := net.ParseIP(own); ip != nil && !ip.IsUnspecified() {
			add(own, false)
		}
	}
	for _, name := range given {
		if _, _, err := net.SplitHostPort(name); err == nil {
			out[strings.ToLower(name)] = true
			continue
		}
		name = strings.Trim(name, "[]")
		add(name, true)
		out[strings.ToLower(bracket(name))] = true
	}
	return out
}

func bracket(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}

// CheckHost refuses what cannot be a name in a Host header.
func CheckHost(name string) error {
	u, err := url.Parse("http://" + name)
	if err != nil || u.Host != name || name == "" || strings.ContainsAny(name, "*@ /\\") {
		return fault.New(fault.Usage, "%.80q is not a name of a host", name).WithHint("write NAME or NAME:PORT, as browsers will")
	}
	return nil
}

// check refuses a request that is meant for another host, or comes from a page of
// another origin.
func (h hosts) check(r *http.Request) error {
	given, ok := h[strings.ToLower(r.Host)]
	if !ok {
		return Refuse(http.StatusForbidden, codeForeignHost,
			"the Host of the request is not one of this server: add it with `ramet serve --host`")
	}
	crossed := Refuse(http.StatusForbidden, codeCrossOrigin, "requests of pages of another origin are refused")
	// A browser says where a request comes from; same-site is not enough, because all
	// ports of one host are one site.
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" {
			return crossed
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		own := strings.EqualFold(origin, "http://"+r.Host) || given && strings.EqualFold(origin, "https://"+r.Host)
		if !own {
			return crossed
		}
	}
	return nil
}

// checkChange refuses a change that a browser asks for without saying from where.
func (h hosts) checkChange(r *http.Request, by sender) error {
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	if safe || by == holder || by == process || r.Header.Get("Origin") != "" {
		return nil
	}
	return Refuse(http.StatusForbidden, codeCrossOrigin, "a change with a session needs an Origin")
}

// DefaultAddr is the default address of ramet's server.
const DefaultAddr = "127.0.0.1:8765"

// Listen opens an address. One that others can reach is refused (USAGE) unless the user
// said so; one that is taken is LOCKED, and says by whom where the system tells.
func Listen(ctx context.Context, addr string, allowRemote bool) (net.Listener, error) {
	name, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(ctx, "tcp", port)
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "%.80q is not an address", addr).WithHint("write HOST:PORT, such as %s", DefaultAddr)
	}
	if !allowRemote {
		if name, err = loopback(ctx, name); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(name, port))
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		by := ""
		if who := holders(port); who != "" {
			by = " by " + who
		}
		return nil, fault.New(fault.Locked, "address %s is in use%s", addr, by).
			WithHint("end that process, or choose another address with --addr")
	case errors.Is(err, os.ErrPermission):
		return nil, fault.New(fault.Denied, "listen on %s: %w", addr, err).WithHint("choose a port above 1023 with --addr")
	}
	return nil, fault.New(fault.Usage, "listen on %s: %w", addr, err)
}

// loopback gives the address of a name that only this machine reaches. What was checked
// is what is listened on, whatever the name means a moment later.
func loopback(ctx context.Context, name string) (string, error) {
	remote := fault.New(fault.Usage, "%.80q can be reached by other machines", name).
		WithHint("use 127.0.0.1, or say --allow-remote if everybody who has the token may drive these agents; the line is not encrypted")
	if name == "" {
		return "", remote // all addresses
	}
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip", name)
	if err != nil || len(ips) == 0 {
		return "", fault.New(fault.Usage, "%.80q is not a host that is known here", name).WithHint("use 127.0.0.1")
	}
	first := ips[0]
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return "", remote
		}
		if ip.To4() != nil {
			first = ip
		}
	}
	return first.String(), nil
}

// holders names the processes that listen on a port, as far as /proc tells: it shows the
// open files of our own processes only.
func holders(port string) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, inode := range listening(table, port) {
			inodes["socket:["+inode+"]"] = true
		}
	}
	if len(inodes) == 0 {
		return ""
	}
	var who []string
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || !inodes[target] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(file))
		name, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue
		}
		one := fmt.Sprintf("%s (process %s)", text.Line(strings.TrimSpace(string(name)), 40), filepath.Base(dir))
		if len(who) == 0 || who[len(who)-1] != one {
			who = append(who, one)
		}
	}
	return strings.Join(who, ", ")
}

// listening reads the sockets that listen on a port from a table of /proc/net.
func listening(table, port string) (inodes []string) {
	f, err := os.Open(table)
	if err != nil {
		return nil
	}
	defer f.Close()
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil
	}
	suffix := fmt.Sprintf(":%04X", number)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		const address, state, inode, listen = 1, 3, 9, "0A"
		fields := strings.Fields(lines.Text())
		if len(fields) > inode && fields[state] == listen && strings.HasSuffix(fields[address], suffix) {
			inodes = append(inodes, fields[inode])
		}
	}
	return inodes
}
