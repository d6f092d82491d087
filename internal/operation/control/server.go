package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"ramet/internal/operation/public"

	"github.com/gofrs/flock"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/launch/sandbox"
)

// protocol is the version of what is spoken here.
const (
	protocol       = "4"
	protocolHeader = "Ramet-Control"
	maxBody        = history.MaxText * 2
	maxHeader      = 8 << 10
)

// slow is how long a client may take to send a request.
const slow = 10 * time.Second

// Kernel is what can be asked of a kernel over its socket.
type Kernel interface {
	States() map[id.Agent]state.State
	Ring(ctx context.Context, r registry.Ring)
	Forget()
}

// Server is a kernel's end of its socket.
type Server struct {
	Owner    string // the name under which the kernel holds leases
	place    Folder
	instance string
	lock     *flock.Flock
	listener net.Listener
	http     http.Server
	done     sync.WaitGroup // what listens and what answers
	owing    bool           // see Owe

	mu     sync.Mutex // guards what follows
	closed bool       // no answer begins any more
}

// Listen takes the lock of a new instance and opens its socket. Nothing is
// answered before Serve.
func Listen(p Folder) (*Server, error) {
	if err := durable.MakeFolder(p.dir, 0o700); err != nil {
		return nil, err
	}
	if err := step.Chmod(p.dir, 0o700); err != nil { // whoever made it
		return nil, durable.Failure("guard folder", p.dir, err)
	}
	s := &Server{place: p, instance: newInstance()}
	s.Owner = p.owner(s.instance)
	s.lock = flock.New(p.lock(s.instance), flock.SetPermissions(0o600))
	// Somebody who looks may have it for a moment; nobody else ever does.
	if err := s.lock.Lock(); err != nil {
		return nil, durable.Failure("lock", p.lock(s.instance), err)
	}
	err := reach(p.sock(s.instance), func(path string) error {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // Close removes it by its own name
		s.listener = l
		return step.Chmod(p.sock(s.instance), 0o600)
	})
	if err != nil {
		s.Close()
		return nil, durable.Failure("open socket", p.sock(s.instance), err)
	}
	return s, nil
}

// Socket returns the path of the socket.
func (s *Server) Socket() string { return s.place.sock(s.instance) }

// Serve answers for a kernel until Close. command carries out command lines of its agents, which CallerOf tells apart; nil:
// none does. Few kernels are ever asked anything: the handler is made when one is.
func (s *Server) Serve(k Kernel, command http.HandlerFunc) {
	routes := sync.OnceValue(func() http.Handler { return s.routes(k, command) })
	mux := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { routes().ServeHTTP(w, r) })
	var plain http.Protocols // HTTP/2, which no socket speaks, is not prepared
	plain.SetHTTP1(true)
	s.http = http.Server{Handler: s.counted(sameVersion(contained(mux))), ConnContext: identify, ReadHeaderTimeout: slow, IdleTimeout: slow,
		MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0), Protocols: &plain}
	s.done.Go(func() { s.http.Serve(s.listener) })
}

func (s *Server) routes(k Kernel, command http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hello", answer(func(ctx context.Context, _ struct{}) (greeting, error) {
		_, own := CallerOf(ctx)
		return greeting{own}, nil
	}))
	mux.HandleFunc("POST /states", answer(func(context.Context, struct{}) (map[id.Agent]state.State, error) { return k.States(), nil }))
	mux.HandleFunc("POST /ring", answer(func(ctx context.Context, rings []registry.Ring) (struct{}, error) {
		var acted sync.WaitGroup
		for _, r := range rings { // side by side: ending one may take its time
			acted.Go(func() { k.Ring(ctx, r) })
		}
		acted.Wait()
		return struct{}{}, nil
	}))
	if command != nil {
		mux.HandleFunc("POST /command", command)
	}
	mux.HandleFunc("POST /forget", answer(func(context.Context, struct{}) (struct{}, error) {
		k.Forget()
		return struct{}{}, nil
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, fault.New(fault.Usage, "the kernel knows no %s %.80q", r.Method, r.URL.Path))
	})
	return mux
}

// Close stops answering, takes the socket away and frees the lock. It returns when
// nothing is being answered any more.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.http.Close()
	if s.listener != nil {
		s.listener.Close()
	}
	s.done.Wait()
	step.Remove(s.place.sock(s.instance))
	if !s.owing {
		step.Remove(s.place.lock(s.instance))
	}
	s.lock.Close()
}

// Owe lets Close leave the lock there, free: leases that could not be given back
// stand under this name, and whoever meets them shall know that the holder is gone.
// It is called before Close.
func (s *Server) Owe() { s.owing = true }

// counted lets Close wait for what is being answered.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		over := s.closed
		if !over {
			s.done.Add(1)
		}
		s.mu.Unlock()
		if over {
			panic(http.ErrAbortHandler) // the connection is closed already
		}
		defer s.done.Done()
		next.ServeHTTP(w, r)
	})
}

// contained makes an answer of a panic.
func contained(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if broken := recover(); broken != nil {
				refuse(w, fault.New(fault.Failed, "the kernel broke while it answered: %s", text.Line(fmt.Sprint(broken), 400)).
					WithHint("this is a fault of ramet"))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

type callerKey struct{}

// identify notes, as a connection is accepted, which command of this kernel is at its other end.
func identify(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := sandbox.CallerOf(peerProcess(conn)); ok {
		return context.WithValue(ctx, callerKey{}, c)
	}
	return ctx
}

// CallerOf returns the command of this kernel that sends a request; false: another process does.
func CallerOf(ctx context.Context) (sandbox.Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(sandbox.Caller)
	return c, ok
}

func sameVersion(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if theirs := r.Header.Get(protocolHeader); theirs != protocol {
			refuse(w, fault.New(fault.Conflict, "the kernel that holds the agent speaks version %s of the control protocol, not %q", protocol, theirs).
				WithHint("use the same ramet for both"))
			return
		}
		if c, _ := CallerOf(r.Context()); c.Confined && r.URL.Path != "/command" {
			refuse(w, fault.New(fault.Denied, "a confined command can only have command lines carried out"))
			return
		}
		next.ServeHTTP(w, r.WithContext(attended(r)))
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
		public.Encoder(w).Encode(out) // a client that is gone needs no answer
	}
}

// read reads a request, from somebody who may be slow or mistaken.
func read[In any](w http.ResponseWriter, r *http.Request) (In, error) {
	var in In
	if r.ContentLength > maxBody {
		return in, fault.New(fault.InvalidEvent, "read request: it has more than %d bytes", maxBody)
	}
	conn := http.NewResponseController(w)
	conn.SetReadDeadline(time.Now().Add(slow)) // where there is none, it is a test's
	defer conn.SetReadDeadline(time.Time{})
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
	public.Encoder(w).Encode(public.FormatError(err))
}
