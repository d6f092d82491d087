package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// Call is one request, past the gate: its sender may ask, its route is known, its
// query has only parameters of the route, once each, and its body is there, whole.
type Call struct {
	Writer  http.ResponseWriter
	Request *http.Request
	Body    []byte // JSON of bounded depth; nil if the route takes none
	query   url.Values
	params  map[string]string
	by      sender
	agent   id.Agent // whose token it has, if by is process
	project *Project // nil for routes of the server itself that no open project was named to
	prefix  string   // of the path: /p/KEY, or empty
	key     string   // of the prefix
}

// Context ends when the client goes or the server stops. What is written with it is the
// caller's doing.
func (c *Call) Context() context.Context { return history.By(c.Request.Context(), c.actor()) }

// actor is the person who asks. A session of the page began with the token.
func (c *Call) actor() history.Actor {
	if c.by == visitor {
		return history.Actor{Who: "token holder", Face: history.Page}
	}
	return history.Actor{Who: "token holder", Face: history.HTTP}
}

// Param is a part of the path: not empty, not a dot or two, without slashes and control
// characters, but otherwise as the client wrote it.
func (c *Call) Param(name string) string { return c.params[name] }

// Query is a query parameter, or empty.
func (c *Call) Query(name string) string { return c.query.Get(name) }

// Has reports whether the parameter was given, even if empty.
func (c *Call) Has(name string) bool { return c.query.Has(name) }

// Number is a query parameter from low to high, or otherwise if it was not given.
func (c *Call) Number(name string, low, high, otherwise int64) (int64, error) {
	if !c.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(c.Query(name), 10, 64)
	if err != nil || n < low || n > high {
		return 0, badQuery(name, "must be a number from "+strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10), "")
	}
	return n, nil
}

// Flag is a query parameter that is 0 or 1; not given is 0.
func (c *Call) Flag(name string) (bool, error) {
	n, err := c.Number(name, 0, 1, 0)
	return n == 1, err
}

// JSON answers. The value is encoded before anything is sent, so that what cannot be
// encoded is an error and not half an answer.
func (c *Call) JSON(status int, v any) error {
	text, err := encode(v)
	if err != nil {
		return fault.New(fault.Failed, "encode the answer: %w", err)
	}
	send(c.Writer, status, "application/json", text)
	return nil
}

// Text answers with text of a media type.
func (c *Call) Text(status int, media string, text []byte) error {
	send(c.Writer, status, media, text)
	return nil
}

func (c *Call) empty(status int) error {
	send(c.Writer, status, "", nil)
	return nil
}

// encode leaves <, > and & alone: the answer is never read as HTML (nosniff).
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// writeTime limits the time in which a client accepts an answer.
const writeTime = 30 * time.Second

func send(w http.ResponseWriter, status int, media string, body []byte) {
	// Writers that have no deadlines are those of tests.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	if media != "" {
		w.Header().Set("Content-Type", media)
	}
	if status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	// Whoever does not take the answer has gone.
	_, _ = w.Write(body)
}
