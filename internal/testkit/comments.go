package testkit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ForgeComment is a comment below a pull request.
type ForgeComment struct {
	Repo string
	Pull int
	ID   int
	Body string
}

// Comments are all comments, oldest first.
func (s *ForgeServer) Comments() []ForgeComment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

// Say comments as somebody else would.
func (s *ForgeServer) Say(repo string, pull int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, ForgeComment{repo, pull, len(s.notes) + 1, body})
}

// discuss answers /issues/N/comments and /issues/comments/ID.
func (s *ForgeServer) discuss(w http.ResponseWriter, r *http.Request, repo string, parts []string, github bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(parts) != 2 {
		say(w, http.StatusNotFound, "Not Found")
		return
	}
	var sent struct{ Body string }
	if r.Method != http.MethodGet && (json.NewDecoder(r.Body).Decode(&sent) != nil || strings.TrimSpace(sent.Body) == "") {
		say(w, http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	if parts[0] == "comments" {
		id, _ := strconv.Atoi(parts[1])
		if id < 1 || id > len(s.notes) || r.Method != http.MethodPatch {
			say(w, http.StatusNotFound, "Not Found")
			return
		}
		s.notes[id-1].Body = sent.Body
		answer(w, http.StatusOK, s.showComment(s.notes[id-1]))
		return
	}
	pull, _ := strconv.Atoi(parts[0])
	if !slices.ContainsFunc(s.pulls, func(p ForgePull) bool { return p.Repo == repo && p.Number == pull }) || parts[1] != "comments" {
		say(w, http.StatusNotFound, "Not Found")
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.listComments(w, r, repo, pull, github)
	case http.MethodPost:
		n := ForgeComment{repo, pull, len(s.notes) + 1, sent.Body}
		s.notes = append(s.notes, n)
		if s.after != nil && s.after() {
			panic(http.ErrAbortHandler)
		}
		answer(w, http.StatusCreated, s.showComment(n))
	default:
		say(w, http.StatusMethodNotAllowed, "no")
	}
}

// listComments gives pages as GitHub does, and all at once as Gitea.
func (s *ForgeServer) listComments(w http.ResponseWriter, r *http.Request, repo string, pull int, github bool) {
	found := []map[string]any{}
	for _, n := range s.notes {
		if n.Repo == repo && n.Pull == pull {
			found = append(found, s.showComment(n))
		}
	}
	if github {
		const size = 10 // fewer than anybody asks for
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		from := min(len(found), (max(page, 1)-1)*size)
		found = found[from:min(len(found), from+size)]
	}
	answer(w, http.StatusOK, found)
}

func (s *ForgeServer) showComment(n ForgeComment) map[string]any {
	return map[string]any{"id": n.ID, "body": strings.ReplaceAll(n.Body, "\n", "\r\n"), "html_url": fmt.Sprintf("%s/%s/pulls/%d#comment-%d", s.URL, n.Repo, n.Pull, n.ID)}
}
