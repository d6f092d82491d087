package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"ramet/internal/agent"
	"ramet/internal/bus"
	"ramet/internal/durable"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/loop"
	"ramet/internal/mail"
	"ramet/internal/proc"
	"ramet/internal/registry"
)

// protocol is the version of what is spoken here.
const (
	protocol       = "1"
	protocolHeader = "Ramet-Control"
	turnHeader     = "Ramet-Turn"
	maxBody        = history.MaxText * 2
)

// Kernel is what can be asked of a kernel over its socket.
type Kernel interface {
	Fork(ctx context.Context, f registry.Fork, start bool) ([]agent.Agent, error)
	Send(ctx context.Context, s registry.Send) (mail.Letter, error)
	Exec(ctx context.Context, a id.Agent, p proc.Prompt) (*proc.Turn, error)
	Ring(ctx context.Context, r registry.Ring)
	Forget()
}

// Server is a kernel's end of its socket.
type Server struct {
	Owner string // the name under which the kernel holds leases

	place    Place
	instance string
	lock     *flock.Flock
	listener net.Listener
	http     http.Server
	done     sync.WaitGroup
}

// Listen takes the lock of a new instance and opens its socket. Nothing is
// answered before Serve.
func Listen(p Place) (*Server, error) {
	if err := durable.MakeFolder(p.dir, 0o700); err != nil {
		return nil, err
	}
	s := &Server{place: p, instance: newInstance()}
	s.Owner = p.owner(s.instance)
	s.lock = flock.New(p.lock(s.instance), flock.SetPermissions(0o600))
	if ok, err := s.lock.TryLock(); err != nil || !ok {
		return nil, durable.Failure("lock", p.lock(s.instance), errors.Join(err, errIf(!ok, "it is locked")))
	}
	err := p.reach(s.instance, func(path string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // Close removes it by its own name
		s.listener = l
		return os.Chmod(p.sock(s.instance), 0o600)
	})
	if err != nil {
		s.Close()
		return nil, durable.Failure("open socket", p.sock(s.instance), err)
	}
	return s, nil
}

func errIf(wrong bool, text string) error {
	if wrong {
		return errors.New(text)
	}
	return nil
}

// Serve answers for a kernel until Close.
func (s *Server) Serve(k Kernel, events *bus.Bus[loop.Event]) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /fork", answer(func(ctx context.Context, r forkRequest) ([]agent.Agent, error) {
		return k.Fork(ctx, r.Fork, r.Start)
	}))
	mux.HandleFunc("POST /send", answer(k.Send))
	mux.HandleFunc("POST /ring", answer(func(ctx context.Context, rings []registry.Ring) (struct{}, error) {
		for _, r := range rings {
			k.Ring(ctx, r)
		}
		return struct{}{}, nil
	}))
	mux.HandleFunc("POST /forget", answer(func(context.Context, struct{}) (struct{}, error) {
		k.Forget()
		return struct{}{}, nil
	}))
	mux.HandleFunc("POST /exec", func(w http.ResponseWriter, r *http.Request) { exec(k, events, w, r) })
	s.http = http.Server{Handler: sameVersion(mux), ReadHeaderTimeout: 5 * time.Second}
	s.done.Go(func() { s.http.Serve(s.listener) })
}

// Close stops answering and takes the socket away.
func (s *Server) Close() {
	s.http.Close()
	if s.listener != nil {
		s.listener.Close()
	}
	s.done.Wait()
	os.Remove(s.place.sock(s.instance))
	os.Remove(s.place.lock(s.instance))
	s.lock.Close()
}

func sameVersion(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if theirs := r.Header.Get(protocolHeader); theirs != protocol {
			refuse(w, fault.New(fault.Conflict, "the kernel that holds the agent speaks version %s of the control protocol, not %q", protocol, theirs).
				WithHint("use the same ramet for both"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// answer makes a handler of a verb.
func answer[In, Out any](verb func(context.Context, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in, err := read[In](w, r)
		if err != nil {
			refuse(w, err)
			return
		}
		out, err := verb(r.Context(), in)
		if err != nil {
			refuse(w, err)
			return
		}
		json.NewEncoder(w).Encode(out) // a client that is gone needs no answer
	}
}

func read[In any](w http.ResponseWriter, r *http.Request) (In, error) {
	var in In
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, fault.New(fault.InvalidEvent, "read request: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, fault.New(fault.InvalidEvent, "read request: something follows it")
	}
	return in, nil
}

func refuse(w http.ResponseWriter, err error) {
	w.WriteHeader(http.StatusConflict)
	json.NewEncoder(w).Encode(formatError(err))
}

type forkRequest struct {
	Fork  registry.Fork
	Start bool
}

type execRequest struct {
	Agent  id.Agent
	Prompt proc.Prompt
	Wait   bool // for the tasks of children too
}

// exec runs a turn and streams what happens to the agent and its offspring. The
// turn is stopped when the client goes away.
func exec(k Kernel, events *bus.Bus[loop.Event], w http.ResponseWriter, r *http.Request) {
	in, err := read[execRequest](w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	seen, enough := events.Subscribe(r.Context())
	defer enough()
	turn, err := k.Exec(r.Context(), in.Agent, in.Prompt)
	if err != nil {
		refuse(w, err)
		return
	}
	go func() {
		defer enough()
		turn.Wait() // how it ended is an event
		if in.Wait {
			turn.Tasks(r.Context())
		}
	}()
	flush, out := http.NewResponseController(w), json.NewEncoder(w)
	w.Header().Set(turnHeader, strconv.FormatInt(turn.ID(), 10))
	family := Family{in.Agent: true}
	for e := range seen {
		if !family.Knows(e) {
			continue
		}
		if err := errors.Join(out.Encode(Format(e)), flush.Flush()); err != nil {
			return
		}
	}
}

// Family is an agent and those forked since it is watched.
type Family map[id.Agent]bool

// Knows says whether an event is about one of the family, and takes in those that
// are born.
func (f Family) Knows(e loop.Event) bool {
	if !f[e.Agent] {
		return e.Agent == "" // about the kernel
	}
	for _, c := range e.Children {
		f[c] = true
	}
	return true
}
