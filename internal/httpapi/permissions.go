package httpapi

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/control"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/loop"
	"ramet/internal/permit"
	"ramet/internal/text"
)

// Asks are the questions of a kernel about calls, which anybody may answer who can see
// them: the page, a terminal, a script. The first answer counts. It is the permit.Asker
// of a policy, and takes answers of other processes (control.Answerer).
type Asks struct {
	timeout time.Duration

	mu   sync.Mutex
	tell func(loop.Event)
	open []*ask // oldest first
	over []string
}

var (
	_ permit.Asker     = (*Asks)(nil)
	_ control.Answerer = (*Asks)(nil)
)

// ask is one question.
type ask struct {
	Ask
	answer chan permit.Verdict // has room for the one answer
}

// Ask is a question as it is shown.
type Ask struct {
	ID      string    `json:"id"`
	Agent   id.Agent  `json:"agent_uuid"`
	Tool    string    `json:"tool"`
	Text    string    `json:"text"`    // one line: what would be done
	Subject string    `json:"subject"` // the whole command line, or the path
	Always  []string  `json:"always"`  // the rules that always would add; none: it is as allow
	Why     string    `json:"why,omitempty"`
	AskedAt time.Time `json:"asked_at"`
	Until   time.Time `json:"until"` // when it is denied, if nobody answers
}

// AskTime is how long a question waits for an answer, if nothing else is said.
const AskTime = 10 * time.Minute

// maxSubject is how much of a command line is shown.
const maxSubject = 64 << 10

// NewAsks makes an empty list; 0 is AskTime.
func NewAsks(timeout time.Duration) *Asks {
	setDefault(&timeout, AskTime)
	return &Asks{timeout: timeout, tell: func(loop.Event) {}}
}

// Tell says who is told of questions and answers: the bus of the kernel that asks. The
// kernel needs its asker before it has a bus.
func (a *Asks) Tell(publish func(loop.Event)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell = publish
}

// Ask waits for the first answer, until ctx ends or time is up.
func (a *Asks) Ask(ctx context.Context, q permit.Question) (permit.Verdict, error) {
	now := time.Now().UTC()
	one := &ask{Ask{ID: strings.ToLower(rand.Text()[:16]), Agent: q.Agent, Tool: q.Tool, Text: q.Summary, Subject: clip(q.Subject, maxSubject),
		Always: []string{}, Why: q.Why, AskedAt: now, Until: now.Add(a.timeout)}, make(chan permit.Verdict, 1)}
	for _, r := range q.Suggestion {
		one.Always = append(one.Always, r.String())
	}
	a.mu.Lock()
	a.open = append(a.open, one)
	tell := a.tell
	a.mu.Unlock()
	tell(loop.Event{Type: loop.Asking, Agent: q.Agent, Tool: q.Tool, Text: q.Summary, Ask: one.ID})
	late := time.NewTimer(a.timeout)
	defer late.Stop()
	select {
	case v := <-one.answer:
		return v, nil
	case <-late.C:
		return a.giveUp(one, "nobody", fault.New(fault.TimedOut, "nobody answered within %s", a.timeout))
	case <-ctx.Done():
		return a.giveUp(one, "withdrawn", ctx.Err())
	}
}

// giveUp ends a question without an answer, unless one came at the last moment.
func (a *Asks) giveUp(one *ask, how string, err error) (permit.Verdict, error) {
	if a.close(one.ID) == nil {
		return <-one.answer, nil
	}
	a.said(one, how)
	return permit.Verdict{}, err
}

func (a *Asks) said(one *ask, how string) {
	a.mu.Lock()
	tell := a.tell
	a.mu.Unlock()
	tell(loop.Event{Type: loop.Answered, Agent: one.Agent, Tool: one.Tool, Text: how, Ask: one.ID})
}

// close takes a question off the list; nil: it is not there.
func (a *Asks) close(name string) *ask {
	const remembered = 256
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.open, func(one *ask) bool { return one.ID == name })
	if i < 0 {
		return nil
	}
	one := a.open[i]
	a.open = slices.Delete(a.open, i, i+1)
	if a.over = append(a.over, name); len(a.over) > remembered {
		a.over = slices.Delete(a.over, 0, remembered/2)
	}
	return one
}

// Answer answers a question. NOT_FOUND: there is no such one; CONFLICT: it is over.
func (a *Asks) Answer(name string, v permit.Verdict) error {
	how := map[permit.Choice]string{permit.Once: "allow", permit.Always: "always", permit.Refuse: "deny"}[v.Choice]
	if how == "" {
		return fault.New(fault.Usage, "%.40q is no answer", v.Choice).WithHint("say once, always or refuse")
	}
	one := a.close(name)
	if one == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		if slices.Contains(a.over, name) {
			return fault.New(fault.Conflict, "the question is over: it was answered, or its time was up").
				WithHint("there is nothing left to do")
		}
		return fault.New(fault.NotFound, "there is no question %.40q", name)
	}
	a.said(one, how) // before the turn goes on
	one.answer <- v
	return nil
}

// List is the questions that wait, oldest first.
func (a *Asks) List() []Ask {
	out := []Ask{}
	if a == nil {
		return out
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.open {
		out = append(out, one.Ask)
	}
	return out
}

// waits says whether an agent waits for an answer.
func (a *Asks) waits(who id.Agent) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.open, func(one *ask) bool { return one.Agent == who })
}

// AskList is the questions that wait.
type AskList struct {
	Asks []Ask `json:"asks"`
}

// AnswerInput is an answer.
type AnswerInput struct {
	Answer string `json:"answer"`          // allow, always or deny
	Words  string `json:"words,omitempty"` // with deny: what the model is told
}

var choices = map[string]permit.Choice{"allow": permit.Once, "always": permit.Always, "deny": permit.Refuse}

func (a Agents) permissionRoutes() []Route {
	doc := func(id, summary string) Doc { return Doc{ID: id, Tag: "permissions", Summary: summary} }
	return []Route{
		Does(Route{Method: http.MethodGet, Path: "/api/v1/permissions", Doc: doc("listPermissions", "List calls that wait for permission, oldest first")},
			http.StatusOK, func(*Call, None) (AskList, error) { return AskList{a.Asks.List()}, a.here() }),
		Does(Route{Method: http.MethodPost, Path: "/api/v1/permissions/{id}", Doc: doc("answerPermission", "Permit or deny a call; the first answer counts")},
			http.StatusNoContent, a.answer),
	}
}

func (a Agents) answer(c *Call, in AnswerInput) (None, error) {
	choice, ok := choices[in.Answer]
	if !ok {
		return None{}, pointed("/answer", fault.New(fault.InvalidField, "the answer must be allow, always or deny"))
	}
	if in.Words != "" {
		if err := text.Check(fault.InvalidText, "the words", in.Words, 4<<10); err != nil {
			return None{}, pointed("/words", err)
		}
	}
	if err := a.here(); err != nil {
		return None{}, err
	}
	if a.Asks == nil {
		return None{}, notHere("such question")
	}
	return None{}, a.Asks.Answer(c.Param("id"), permit.Verdict{Choice: choice, Words: in.Words})
}
