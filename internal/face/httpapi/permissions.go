package httpapi

import (
	"net/http"

	"ramet/internal/base/fault"
	"ramet/internal/turn/permit"
)

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
