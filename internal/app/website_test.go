package app

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ramet/internal/core/trust"
	"ramet/internal/face/cli"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
)

// The log of the background kernel names a route that panicked and where, and nothing of the request.
func TestThePanicOfARouteIsLogged(t *testing.T) {
	var mu sync.Mutex
	var log strings.Builder
	token := testkit.Must(trust.OpenToken(t.TempDir()))(t)
	w := &website{host: &host{ctx: t.Context(), o: cli.HostOptions{Token: token,
		Projects: func(context.Context) (public.Projects, error) { panic("a secret") },
		Note: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			log.WriteString(line + "\n")
		}}}}
	testkit.OK(t, w.open(t.Context(), cli.ServeRequest{Addr: "127.0.0.1:0"}))
	defer w.close()
	r := testkit.Must(http.NewRequest(http.MethodGet, w.base+"/api/v1/projects", nil))(t)
	r.Header.Set("Authorization", token.Bearer())
	answer := testkit.Must(http.DefaultClient.Do(r))(t)
	answer.Body.Close()
	if answer.StatusCode != http.StatusInternalServerError {
		t.Fatal(answer.Status)
	}
	mu.Lock()
	defer mu.Unlock()
	if said := log.String(); !strings.Contains(said, "GET /api/v1/projects") || !strings.Contains(said, "website_test.go") || strings.Contains(said, "a secret") {
		t.Errorf("%s", said)
	}
}
