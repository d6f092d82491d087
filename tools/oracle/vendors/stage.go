package vendors

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
)

// Stage is a server that plays recordings: the one of number N below /N.
type Stage struct {
	*httptest.Server
	recordings []Recording
}

// NewStage opens one on loopback.
func NewStage(recordings []Recording) *Stage {
	s := &Stage{recordings: recordings}
	s.Server = httptest.NewServer(s)
	return s
}

// Base is where a recording is played.
func (s *Stage) Base(n int) string { return s.URL + "/" + strconv.Itoa(n) }

// ServeHTTP implements http.Handler.
func (s *Stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	number, _, _ := strings.Cut(r.URL.Path[1:], "/")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(s.recordings) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", s.recordings[n].Type)
	w.Write(s.recordings[n].Body)
}
