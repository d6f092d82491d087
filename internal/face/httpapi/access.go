package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/id"
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
