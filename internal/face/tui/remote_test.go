package tui

import (
	"context"
	"encoding/json"
	"iter"
	"net/http/httptest"
	"reflect"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// hostedStage is a stage that terminals in other processes use.
type hostedStage struct {
	*stage
	asks   []OpenQuestion
	events loop.EventBus
	turn   func() (bool, error)
}

func (h *hostedStage) Folder(context.Context, id.Agent) (string, error) { return "/folder", nil }
func (h *hostedStage) OpenQuestions() []OpenQuestion                    { return h.asks }
func (h *hostedStage) AnswerQuestion(name string, v permit.Verdict) error {
	h.said = append(h.said, "answer "+name+" "+string(v.Choice))
	return nil
}

func (h *hostedStage) Turn(context.Context, id.Agent, string, llm.Ref, string) (bool, error) {
	return h.turn()
}

func (h *hostedStage) Events(ctx context.Context) iter.Seq[loop.Event] {
	seen, _ := h.events.Subscribe(ctx)
	return seen
}

func connect(t *testing.T, h *hostedStage) (*Remote, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(Handler(func(*kernel.Environment) Hosted { return h }))
	t.Cleanup(func() {
		server.CloseClientConnections() // streams do not end by themselves
		server.Close()
	})
	r, err := Connect(t.Context(), RemoteOptions{Client: server.Client(), Open: func(context.Context) (string, error) { return server.URL + "/", nil },
		Answered: func(v permit.Verdict) permit.Verdict { return v }})
	if err != nil {
		t.Fatal(err)
	}
	return r, server
}

func TestAnotherProcessAnswersTheSame(t *testing.T) {
	h := &hostedStage{stage: family()}
	r, _ := connect(t, h)
	for name, ask := range map[string]func(Workspace) (any, error){
		"agents":   func(w Workspace) (any, error) { return w.Agents(t.Context()) },
		"overview": func(w Workspace) (any, error) { return w.Overview(t.Context()) },
		"page":     func(w Workspace) (any, error) { return w.Page(t.Context(), h.agents.All[0].ID, Span{Limit: 10}) },
		"model":    func(w Workspace) (any, error) { return w.Model(h.agents.All[0], llm.Ref{}) },
		"usable":   func(w Workspace) (any, error) { return w.Usable(), nil },
		"defined":  func(w Workspace) (any, error) { return w.Defined(), nil },
		"unknown":  func(w Workspace) (any, error) { return w.Page(t.Context(), "nobody", Span{}) },
	} {
		here, herr := ask(h)
		there, terr := ask(r)
		one, _ := json.Marshal(here)
		two, _ := json.Marshal(there)
		if string(one) != string(two) || (herr == nil) != (terr == nil) || herr != nil && herr.Error() != terr.Error() {
			t.Errorf("%s: here %s %v, there %s %v", name, one, herr, two, terr)
		}
	}
}

// Inputs that the terminal binds arrive as they were.
func TestInputsOfOperationsTravel(t *testing.T) {
	for _, o := range operation.All() {
		if o.Describe().Faces&operation.Slash == 0 {
			continue
		}
		in, err := operation.BindSlash(o, nil, "agent")
		if err != nil {
			continue // it needs more than the agent on the screen
		}
		text := testkit.Must(public.Marshal(in))(t)
		_, got, err := operationRequest{o.Describe().Name, text}.decode()
		if err != nil || !reflect.DeepEqual(in, got) {
			t.Errorf("%s: sent %+v, got %+v, %v", o.Describe().Name, in, got, err)
		}
	}
}

// A turn tells when its prompt is in the history, before it is over: if the kernel dies then, the prompt is not given back.
func TestATurnTellsWhetherItWasSaid(t *testing.T) {
	began, over := make(chan struct{}), make(chan struct{})
	h := &hostedStage{stage: family(), turn: func() (bool, error) { close(began); <-over; return true, nil }}
	r, _ := connect(t, h)
	a := h.agents.All[0].ID
	content, _, err := history.Encode([]history.Part{{Type: history.Text, Text: "hello"}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-began
		h.events.Publish(loop.Event{Type: loop.Recorded, Agent: a, Entry: &history.Entry{Agent: a, Kind: history.User, Content: content, Meta: []byte("{}")}})
	}()
	body := testkit.Must(r.post(t.Context(), "turn", request[turnRequest]{Input: turnRequest{Agent: a, Text: "hello"}}))(t)
	defer body.Close()
	lines := json.NewDecoder(body)
	var first, last turnLine
	if err := lines.Decode(&first); err != nil || !first.Said || first.Over {
		t.Errorf("first %+v, %v", first, err)
	}
	close(over)
	if err := lines.Decode(&last); err != nil || !last.Said || !last.Over {
		t.Errorf("then %+v, %v", last, err)
	}
}

// A question is shown once, is answered by its name, and is over when the kernel says so.
func TestQuestionsOfAnotherProcess(t *testing.T) {
	h := &hostedStage{stage: family(), asks: []OpenQuestion{{Name: "q1", Question: permit.Question{Tool: "bash"}}}}
	r, _ := connect(t, h)
	go func() {
		for range r.Events(t.Context()) {
		}
	}()
	q := <-r.Questions(t.Context())
	if q.Tool != "bash" {
		t.Errorf("it asks about %q", q.Tool)
	}
	h.asks = nil
	h.events.Publish(loop.Event{Type: loop.Answered, Ask: "q1"})
	<-q.Over
}
