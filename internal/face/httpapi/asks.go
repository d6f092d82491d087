package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// Asks are the questions of a kernel about calls, which anybody may answer who can see
// them: the page, a terminal, a script. The first answer counts. It is the permit.Asker
// of a policy, and takes answers of other processes (session.Answerer).
type Asks struct {
	timeout time.Duration

	mu   sync.Mutex
	tell func(loop.Event)
	open []*ask // oldest first
	over []string
}

var (
	_ permit.Asker     = (*Asks)(nil)
	_ session.Answerer = (*Asks)(nil)
)

type ask struct {
	Ask
	question permit.Question
	answer   chan permit.Verdict // has room for the one answer
}

// Ask is a question as it is shown.
type Ask struct {
	ID      string    `json:"id"`
	Agent   id.Agent  `json:"agent_uuid"`
	Tool    string    `json:"tool"`
	Text    string    `json:"text"`            // one line: what would be done
	Subject string    `json:"subject"`         // the whole command line, or the path
	Whole   string    `json:"whole,omitempty"` // all that the call would do; absent: the subject is
	CallID  string    `json:"call_id"`
	Mode    string    `json:"mode"`             // of the agent
	Outside bool      `json:"outside"`          // it would run outside the box
	Where   string    `json:"where,omitempty"`  // in which folder, and whether in the background; absent: in the agent's own, and waited for
	Reason  string    `json:"reason,omitempty"` // the model's, why it should
	Why     string    `json:"why,omitempty"`    // why it is asked, if not only because no rule permits it
	Choices []Choice  `json:"choices"`          // in the order in which they are offered; the first is no
	Always  []string  `json:"always"`           // the rule that agent grants; none: it cannot be granted
	Change  *Change   `json:"change,omitempty"` // what the call would write; absent: nothing, or nobody knows
	AskedAt time.Time `json:"asked_at"`
	Until   time.Time `json:"until"` // when it is denied, if nobody answers
}

// Choice is one way to answer.
type Choice struct {
	Choice string `json:"choice"`         // no, because, once, agent or project; for a question of the model's own no, because, 1, 2 …
	Text   string `json:"text"`           // for people
	Rule   string `json:"rule,omitempty"` // what it would grant or save
	No     string `json:"no,omitempty"`   // why it cannot be chosen; absent: it can
}

// Change is the change that a call would make: its patch, or what goes and comes if it is not known where in the file.
type Change struct {
	Patch   string `json:"patch,omitempty"` // a unified diff
	Removed string `json:"removed"`
	Added   string `json:"added"`
}

// changeOf returns the change in a patch, or nil if there is none.
func changeOf(patch string) *Change {
	lines, noPlaces := strings.CutPrefix(patch, tool.PatchWithoutPlaces)
	switch {
	case patch == "":
		return nil
	case !noPlaces:
		return &Change{Patch: clip(patch, maxSubject)}
	}
	var removed, added strings.Builder
	for line := range strings.Lines(lines) {
		if gone, ok := strings.CutPrefix(line, "-"); ok {
			removed.WriteString(gone)
		} else {
			added.WriteString(line[1:])
		}
	}
	return &Change{Removed: clip(removed.String(), maxSubject), Added: clip(added.String(), maxSubject)}
}

// AskTime is the default time for which a question waits for an answer.
const AskTime = 10 * time.Minute

// maxSubject limits the part of a call that is shown: longer than any command line, so that no one permits a truncated
// call.
const maxSubject = 1 << 20

// NewAsks makes an empty list; 0 is AskTime.
func NewAsks(timeout time.Duration) *Asks {
	return &Asks{timeout: cmp.Or(timeout, AskTime), tell: func(loop.Event) {}}
}

// Tell sets the publisher of questions and answers: the bus of the kernel that asks. The kernel needs its asker before
// it has a bus.
func (a *Asks) Tell(publish func(loop.Event)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell = publish
}

// Ask waits for the first answer, until ctx ends or time is up.
func (a *Asks) Ask(ctx context.Context, q permit.Question) (permit.Verdict, error) {
	now := time.Now().UTC()
	one := &ask{Ask{ID: strings.ToLower(rand.Text()[:16]), Agent: q.Agent, Tool: q.Tool, Text: q.Summary, Subject: clip(cmp.Or(q.Subject, q.Says), maxSubject),
		Whole: clip(q.Whole, maxSubject), CallID: q.CallID, Mode: string(q.Mode), Outside: q.Outside, Where: q.Where, Reason: q.Reason,
		Always: []string{}, Why: q.Why, Change: changeOf(q.Patch), AskedAt: now, Until: now.Add(a.timeout)}, q, make(chan permit.Verdict, 1)}
	for _, o := range q.Options() {
		one.Choices = append(one.Choices, Choice{string(o.Choice), o.Text, o.Rule, o.No})
	}
	if q.NoGrant == "" && q.Says == "" {
		one.Always = append(one.Always, q.Rule.String())
	}
	a.mu.Lock()
	a.open = append(a.open, one)
	tell := a.tell
	a.mu.Unlock()
	tell(loop.Event{Type: loop.Asking, Agent: q.Agent, Tool: q.Tool, CallID: q.CallID, Text: q.Summary, Ask: one.ID})
	late := time.NewTimer(a.timeout)
	defer late.Stop()
	select {
	case v := <-one.answer:
		return v, nil
	case <-late.C:
		return a.giveUp(one, "nobody", fault.New(fault.TimedOut, "no answer within %s", a.timeout))
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

// Answer answers a question. NOT_FOUND: there is no such one; CONFLICT: it is over. An
// answer that it does not offer is refused, and it still waits.
func (a *Asks) Answer(name string, v permit.Verdict) error {
	q, waits := a.Question(name)
	if waits {
		if err := q.Check(v); err != nil {
			return err
		}
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
	how := v.Choice
	if how == permit.Because && q.Says == "" {
		how = permit.Refuse
	}
	a.said(one, string(how)) // before the turn goes on
	one.answer <- v
	return nil
}

// Question is a question that waits, whole; false: there is none of that name.
func (a *Asks) Question(name string) (permit.Question, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.open, func(one *ask) bool { return one.ID == name })
	if i < 0 {
		return permit.Question{}, false
	}
	return a.open[i].question, true
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

// AskList is the questions that wait.
type AskList struct {
	Asks []Ask `json:"asks"`
}

// AnswerInput is an answer.
type AnswerInput struct {
	Answer string `json:"answer"`          // one of the choices of the question
	Words  string `json:"words,omitempty"` // with no or because: what the model is told
	Rule   string `json:"rule,omitempty"`  // with project: the rule as it is to be saved; absent: as proposed
}

// formerly are the answers as they were called before there were five.
var formerly = map[string]permit.Choice{"allow": permit.Once, "always": permit.ForAgent, "deny": permit.Refuse}

func (a Agents) permissionRoutes() []Route {
	doc := func(id, summary string) Doc { return Doc{ID: id, Tag: "permissions", Summary: summary} }
	return []Route{
		Does(Route{Method: http.MethodGet, Path: "/api/v1/permissions", Doc: doc("listPermissions", "List calls that wait for permission, oldest first")},
			http.StatusOK, func(*Call, None) (AskList, error) { return AskList{a.Asks.List()}, a.here() }),
		Does(Route{Method: http.MethodPost, Path: "/api/v1/permissions/{id}", Doc: doc("answerPermission", "Permit a call once, for its agent or the project, or not; the first answer counts")},
			http.StatusNoContent, a.answer),
	}
}

func (a Agents) answer(c *Call, in AnswerInput) (None, error) {
	v := permit.Verdict{Choice: permit.Choice(in.Answer), Words: in.Words, Rule: in.Rule, By: c.actor()}
	if known, ok := formerly[in.Answer]; ok {
		v.Choice = known
	}
	if err := a.here(); err != nil {
		return None{}, err
	}
	if a.Asks == nil {
		return None{}, notHere("such question")
	}
	if err := (permit.Question{}).Check(permit.Verdict{Choice: permit.Refuse, Words: in.Words}); err != nil {
		return None{}, pointed("/words", err)
	}
	err := a.Asks.Answer(c.Param("id"), v)
	if fault.Is(err, fault.InvalidField) || fault.Is(err, fault.InvalidConfig) {
		where := "/answer"
		if in.Rule != "" {
			where = "/rule"
		}
		return None{}, pointed(where, err)
	}
	return None{}, err
}

// pointed says which field an error is about.
func pointed(pointer string, err error) error {
	e := answerOf(err)
	e.status = http.StatusUnprocessableEntity
	e.Details = append(e.Details, Detail{Pointer: pointer, Message: e.Message})
	return e
}
