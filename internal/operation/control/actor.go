package control

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"ramet/internal/core/history"
)

// actorHeader says which person a request is for, so that a verb that another kernel
// carries out names the one who asked for it. The socket is the user's own: whoever
// reaches it may say so.
const actorHeader = "Ramet-Actor"

// attend puts the person of ctx into a request.
func attend(ctx context.Context, h http.Header) {
	a := history.ActorOf(ctx)
	if a == nil {
		return
	}
	if text, err := json.Marshal(a); err == nil {
		h.Set(actorHeader, url.QueryEscape(string(text)))
	}
}

// attended is the context of a request, with its person.
func attended(r *http.Request) context.Context {
	text, err := url.QueryUnescape(r.Header.Get(actorHeader))
	var a history.Actor
	if err != nil || json.Unmarshal([]byte(text), &a) != nil || a == (history.Actor{}) {
		return r.Context()
	}
	return history.By(r.Context(), a)
}
