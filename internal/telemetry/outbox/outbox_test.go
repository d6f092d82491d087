package outbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/core/history"
	"ramet/internal/telemetry"
	"ramet/internal/telemetry/store"
	"ramet/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tok-5ecret"

// service counts what arrives. Answer decides about each request first; 0 takes it.
type service struct {
	*httptest.Server
	mu      sync.Mutex
	answer  func(r *http.Request, body []byte) int
	taken   map[string]int    // deliveries by method, id and body
	order   map[string]string // of each record: methods in the order of arrival
	trouble []string
	asked   chan struct{} // one for each request, as far as there is room
}

func newService(t testing.TB) *service {
	s := &service{taken: map[string]int{}, order: map[string]string{}, asked: make(chan struct{}, 10000)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	select {
	case s.asked <- struct{}{}:
	default:
	}
	status := 0
	if answer != nil {
		status = answer(r, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+token || r.Header.Get("Content-Type") != "application/json" {
		s.trouble = append(s.trouble, fmt.Sprint("headers ", r.Header))
	}
	if status != 0 {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":"X","message":"you said %s"}`, r.Header.Get("Authorization"))
		return
	}
	switch {
	case r.Method == "POST" && r.URL.Path == "/api/v1/runs":
		s.take("POST", readSeen(body).EventID, body)
		w.WriteHeader(201)
	case r.Method == "PATCH":
		s.take("PATCH", strings.TrimPrefix(r.URL.Path, "/api/v1/runs/"), body)
	default:
		s.trouble = append(s.trouble, r.Method+" "+r.URL.Path)
	}
}

func (s *service) take(method, id string, body []byte) {
	s.taken[method+" "+id+" "+string(body)]++
	s.order[id] += method + " "
}

func (s *service) answers(f func(*http.Request, []byte) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// check compares with what was put: everything once, in order.
func (s *service) check(t *testing.T, want []telemetry.Delivery) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	order := map[string]string{}
	for _, d := range want {
		if n := s.taken[d.Method+" "+d.EventID+" "+string(d.Body)]; n != 1 {
			t.Errorf("%s %s %.60s arrived %d times", d.Method, d.EventID, d.Body, n)
		}
		order[d.EventID] += d.Method + " "
	}
	if len(s.taken) != len(want) {
		t.Errorf("%d deliveries arrived, %d were put", len(s.taken), len(want))
	}
	for id, w := range order {
		if s.order[id] != w {
			t.Errorf("%s: arrived %s, put %s", id, s.order[id], w)
		}
	}
	if len(s.trouble) > 0 {
		t.Errorf("trouble: %q", s.trouble)
	}
}

// turns are the deliveries of n turns: create, create a call, change, for each.
func turns(n int) (out []telemetry.Delivery) {
	at := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	for i := range n {
		turn, d := telemetry.BeginTurn(telemetry.TurnStart{Agent: "019b0000-0000-7000-8000-000000000001", Key: fmt.Sprint(i), At: at.Add(time.Duration(i) * time.Second)})
		out = append(out, d...)
		out = append(out, turn.Call(fmt.Sprintf("call%d", i), at, history.Call{Outcome: "stop"})...)
		out = append(out, turn.End(at.Add(time.Hour), "", "")...)
	}
	return out
}

// quick are options for a service, with pauses that do not hold up a test.
func (s *service) quick() Options {
	return Options{URL: s.URL, Token: token, Pauses: []time.Duration{1, 1, 1}, Later: time.Hour, Timeout: time.Minute}
}

func open(t testing.TB, path string, o Options) *Outbox {
	t.Helper()
	b := testkit.Must(Open(path, o))(t)
	t.Cleanup(func() { b.Close() })
	return b
}

func flush(t testing.TB, b *Outbox) {
	t.Helper()
	testkit.OK(t, b.Flush(t.Context()))
}

func at(t testing.TB) string { return filepath.Join(t.TempDir(), "telemetry_outbox.jsonl") }

func TestEverythingArrivesOnceAndInOrder(t *testing.T) {
	s := newService(t)
	b := open(t, at(t), s.quick())
	want := turns(200)
	for i := 0; i < len(want); i += 3 {
		b.Put(want[i : i+3]...)
	}
	flush(t, b)
	s.check(t, want)
	if n := b.Unsent(); n != 0 {
		t.Errorf("%d unsent", n)
	}
}

// The service is down while work goes on, in three ways; it comes back, and nothing was
// lost, nothing came twice.
func TestAServiceThatIsDownLosesNothing(t *testing.T) {
	for name, down := range map[string]func(r *http.Request, _ []byte) int{
		"5xx":             func(*http.Request, []byte) int { return 503 },
		"broken off":      func(*http.Request, []byte) int { panic(http.ErrAbortHandler) },
		"only the change": func(r *http.Request, _ []byte) int { return map[bool]int{true: 502}[r.Method == "PATCH"] },
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			path := at(t)
			b := open(t, path, s.quick())
			want := turns(150)
			b.Put(want[:90]...)
			flush(t, b)
			s.answers(down)
			b.Put(want[90:300]...)
			err := b.Flush(t.Context())
			if !fault.Is(err, fault.Failed) || b.Unsent() == 0 || !strings.Contains(err.Error(), "not sent") {
				t.Fatalf("flush says %v, %d unsent", err, b.Unsent())
			}
			b.Put(want[300:330]...)
			if b.Close() != nil {
				t.Fatal("close")
			}
			// Another process, and the service is still down.
			b = open(t, path, s.quick())
			if err := b.Flush(t.Context()); err == nil {
				t.Fatal("it is down and everything was sent")
			}
			b.Put(want[330:]...)
			s.answers(nil)
			flush(t, b)
			s.check(t, want)
			if b.Dead() != 0 || b.Err() != nil {
				t.Errorf("%d dead, %v", b.Dead(), b.Err())
			}
		})
	}
}

func TestWhatFailsIsTriedThreeTimesAgainAndThenLeftAlone(t *testing.T) {
	s := newService(t)
	s.answers(func(*http.Request, []byte) int { return 500 })
	b := open(t, at(t), s.quick())
	b.Put(turns(1)[0])
	for range 4 {
		<-s.asked
	}
	err := b.Flush(t.Context()) // one try more, since somebody asks
	if err == nil || !strings.Contains(err.Error(), "500") {
		t.Error(err)
	}
	<-s.asked
	b.Put(turns(2)[3])
	if n := b.Unsent(); n != 2 {
		t.Errorf("%d unsent", n)
	}
}

func TestWhatIsRefusedIsNotTriedAgain(t *testing.T) {
	s := newService(t)
	want := turns(3)
	s.answers(func(r *http.Request, body []byte) int {
		if strings.Contains(string(body)+r.URL.Path, want[3].EventID) {
			return map[string]int{"POST": 409, "PATCH": 404}[r.Method]
		}
		return 0
	})
	path := at(t)
	o := s.quick()
	var mu sync.Mutex
	var told []string
	o.Report = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, err.Error())
	}
	b := open(t, path, o)
	b.Put(want...)
	flush(t, b)
	s.check(t, []telemetry.Delivery{want[0], want[1], want[2], want[4], want[6], want[7], want[8]})
	if b.Dead() != 2 || len(told) != 2 || b.Unsent() != 0 {
		t.Errorf("%d dead, told %q", b.Dead(), told)
	}
	testkit.OK(t, b.Close())
	letters := testkit.Must(os.ReadFile(filepath.Join(filepath.Dir(path), "telemetry_outbox.dead.jsonl")))(t)
	rows := strings.Split(strings.TrimSpace(string(letters)), "\n")
	if len(rows) != 2 || !strings.Contains(rows[0], `"status":409`) || !strings.Contains(rows[0], string(want[3].Body)) || !strings.Contains(rows[1], `"method":"PATCH"`) {
		t.Errorf("dead letters\n%s", letters)
	}
	// The service repeats what it was told: the token is nowhere all the same.
	entries, _ := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if bytes.Contains(text, []byte(token)) {
			t.Errorf("the token is in %s", e.Name())
		}
	}
	if all := strings.Join(told, "\n"); strings.Contains(all, token) || !strings.Contains(all, "[token]") {
		t.Errorf("told %s", all)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	other := newService(t)
	s := httptest.NewServer(http.RedirectHandler(other.URL+"/api/v1/runs", http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	b := open(t, at(t), Options{URL: s.URL, Token: token})
	b.Put(turns(1)[0])
	flush(t, b)
	if b.Dead() != 1 || len(other.asked) != 0 {
		t.Errorf("%d dead, %d asked", b.Dead(), len(other.asked))
	}
}

// A service that takes for ever holds up nobody who puts.
func TestASlowServiceHoldsUpNobody(t *testing.T) {
	s := newService(t)
	release := make(chan struct{})
	s.answers(func(*http.Request, []byte) int { <-release; return 0 })
	b := open(t, at(t), s.quick())
	want := turns(1000)
	b.Put(want[0])
	<-s.asked // it hangs
	for _, d := range want[1:] {
		b.Put(d)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Flush(late); err == nil || !strings.Contains(err.Error(), "3000 telemetry deliveries") {
		t.Errorf("flush: %v", err)
	}
	close(release)
	flush(t, b)
	s.check(t, want)
}

func TestAServiceThatTakesTooLongIsLikeOneThatIsDown(t *testing.T) {
	s := newService(t)
	release := make(chan struct{})
	defer close(release)
	s.answers(func(*http.Request, []byte) int { <-release; return 503 })
	o := s.quick()
	o.Timeout, o.Pauses = time.Millisecond, []time.Duration{}
	b := open(t, at(t), o)
	b.Put(turns(1)...)
	if err := b.Flush(t.Context()); err == nil || b.Unsent() != 3 {
		t.Errorf("%v, %d unsent", err, b.Unsent())
	}
}

func TestOneProcessAtATime(t *testing.T) {
	s := newService(t)
	path := at(t)
	b := open(t, path, s.quick())
	if _, err := Open(path, s.quick()); !fault.Is(err, fault.Locked) {
		t.Errorf("a second one: %v", err)
	}
	testkit.OK(t, b.Close())
	b.Put(turns(1)...) // too late, and no harm
	open(t, path, s.quick())
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, o := range []Options{{}, {URL: "telemetry"}, {URL: "ftp://x"}, {URL: "http://"}, {URL: "http://me:pass\x7f@x"}, {URL: "http://x?q"}, {URL: "http://x", Local: &store.Store{}}} {
		_, err := Open(at(t), o)
		if !fault.Is(err, fault.InvalidConfig) || strings.Contains(err.Error(), "pass") {
			t.Errorf("%q: %v", o.URL, err)
		}
	}
	// A password in the address is in no error.
	o := Options{URL: "http://me:passw0rd@127.0.0.1:1", Pauses: []time.Duration{}}
	b := open(t, at(t), o)
	b.Put(turns(1)[0])
	if err := b.Flush(t.Context()); err == nil || strings.Contains(err.Error(), "passw0rd") {
		t.Error(err)
	}
}

func TestMarksAndWhatRunsSurvive(t *testing.T) {
	s := newService(t)
	path := at(t)
	b := open(t, path, s.quick())
	all := turns(3)
	b.PutMarked("run-1", 7, all[0], all[1]) // the first turn never ends
	b.PutMarked("run-2", 1, all[3:6]...)
	b.PutMarked("run-1", 9)
	flush(t, b)
	for range 3 {
		testkit.OK(t, b.Close())
		b = open(t, path, s.quick())
		if b.Marked("run-1") != 9 || b.Marked("run-2") != 1 || b.Marked("run-3") != 0 {
			t.Errorf("marks %v", b.marks)
		}
		if !b.Made(all[2]) || b.Made(all[5]) {
			t.Errorf("running %+v", b.open)
		}
	}
	b.Put(all[2]) // its end
	flush(t, b)
	if b.Made(all[2]) {
		t.Errorf("running %+v", b.open)
	}
}

// The file does not grow with what was sent.
func TestTheFileStaysSmall(t *testing.T) {
	s := newService(t)
	path := at(t)
	b := open(t, path, s.quick())
	all := turns(2000)
	put := 0
	for i := 0; i < len(all); i += 300 {
		b.Put(all[i : i+300]...)
		flush(t, b)
		for _, d := range all[i : i+300] {
			put += len(d.Body)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 2*maxDone || put < 2*maxDone {
		t.Errorf("%d bytes after %d, %v", info.Size(), put, err)
	}
	s.check(t, all)
	testkit.OK(t, b.Close())
	if text, _ := os.ReadFile(path); strings.Count(string(text), "\n") != 1 || !strings.HasPrefix(string(text), `{"to":"`) {
		t.Errorf("left %q", text)
	}
}

// The disk fails under the outbox: what was put is sent all the same, and the file is
// whole again afterwards.
func TestAFileThatCannotBeWritten(t *testing.T) {
	s := newService(t)
	s.answers(func(*http.Request, []byte) int { return 500 })
	path := at(t)
	b := open(t, path, s.quick())
	want := turns(4)
	b.PutMarked("run", 1, want[:3]...)
	if b.Flush(t.Context()) == nil {
		t.Fatal("it is down")
	}
	b.mu.Lock()
	b.file.Close()
	b.file, _ = step.OpenFile(path, os.O_RDONLY, 0) // which cannot be written
	b.mu.Unlock()
	b.PutMarked("run", 2, want[3:6]...)
	b.PutMarked("run", 3, want[6:9]...)
	if b.Err() == nil {
		t.Error("nobody noticed")
	}
	if b.Flush(t.Context()) == nil { // a round that is given up writes the file anew
		t.Fatal("it is down")
	}
	b.Put(want[9:]...)
	testkit.OK(t, b.Close())
	s.answers(nil)
	b = open(t, path, s.quick())
	flush(t, b)
	s.check(t, want)
	if b.Marked("run") != 3 {
		t.Errorf("mark %d", b.Marked("run"))
	}
}

func TestIntoAStoreOfThisProcess(t *testing.T) {
	kept := testkit.Must(store.OpenFile(t.Context(), filepath.Join(t.TempDir(), "telemetry.sqlite")))(t)
	defer kept.Close()
	path := at(t)
	b := open(t, path, Options{Local: kept})
	want := turns(100)
	b.Put(want...)
	b.Put(want...) // again, as after a crash
	flush(t, b)
	for i := 0; i < len(want); i += 3 {
		r, err := kept.Get(t.Context(), want[i].EventID)
		if err != nil || r.Status != telemetry.Success {
			t.Fatalf("%s: %+v %v", want[i].EventID, r, err)
		}
	}
	reused := bytes.Replace(want[0].Body, []byte(`"status":"running"`), []byte(`"status":"timeout"`), 1)
	b.Put(telemetry.Delivery{Method: "POST", EventID: want[0].EventID, Body: reused},
		telemetry.Delivery{Method: "PATCH", EventID: "00000000-0000-4000-8000-000000000000", Body: []byte(`{"status":"success"}`)},
		telemetry.Delivery{Method: "PATCH", EventID: want[0].EventID, Body: []byte(`{"status":"running"}`)},
		telemetry.Delivery{Method: "PATCH", EventID: want[0].EventID, Body: []byte("{\n\"nonsense\":1}")},
		telemetry.Delivery{Method: "PATCH", EventID: "../x", Body: []byte(`{}`)},
		telemetry.Delivery{Method: "PATCH", EventID: want[0].EventID, Body: []byte("{\n")})
	flush(t, b)
	if b.Dead() != 4 || b.Err() == nil {
		t.Errorf("%d dead, %v", b.Dead(), b.Err())
	}
	testkit.OK(t, b.Close())
}

// Runs of two projects may have one name: the second is not recorded, says so once, and does not
// change what is recorded of the first, also when it goes on in another process.
func TestARecordOfAnotherRunIsNotChanged(t *testing.T) {
	kept := testkit.Must(store.OpenFile(t.Context(), filepath.Join(t.TempDir(), "telemetry.sqlite")))(t)
	defer kept.Close()
	const id = "57b7c78c-399c-517c-b516-c50b770779b6"
	create := func(trace string) telemetry.Delivery {
		return telemetry.Delivery{Method: "POST", EventID: id, Body: []byte(`{"agent_name":"orchestrator","context_json":{"trace_id":"` + trace + `"},"event_id":"` + id +
			`","job_type":"launch","run_id":"same","start_time":"2026-01-15T00:00:00Z","status":"running"}`)}
	}
	fail := telemetry.Delivery{Method: "PATCH", EventID: id, Body: []byte(`{"end_time":"2026-01-15T09:00:00Z","status":"failure"}`)}
	first := open(t, at(t), Options{Local: kept})
	first.Put(create("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))
	flush(t, first)

	var told []string
	path, o := at(t), Options{Local: kept, Report: func(err error) { told = append(told, err.Error()) }}
	second := open(t, path, o)
	second.Put(create("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"), fail)
	flush(t, second)
	second.Put(fail)
	flush(t, second)
	testkit.OK(t, second.Close())
	if len(told) != 1 || !strings.Contains(told[0], anotherRun) || second.Dead() != 3 {
		t.Errorf("%d dead, told %q", second.Dead(), told)
	}
	again := open(t, path, o)
	again.Put(fail)
	flush(t, again)
	if r, err := kept.Get(t.Context(), id); err != nil || r.Status != telemetry.Running {
		t.Errorf("%+v %v", r, err)
	}
	first.Put(telemetry.Delivery{Method: "PATCH", EventID: id, Body: []byte(`{"end_time":"2026-01-15T01:00:00Z","status":"success"}`)})
	flush(t, first)
	if r, err := kept.Get(t.Context(), id); err != nil || r.Status != telemetry.Success {
		t.Errorf("%+v %v", r, err)
	}
}
