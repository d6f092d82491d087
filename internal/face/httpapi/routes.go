package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/jsonschema"
	"ramet/internal/base/shape"
	"ramet/internal/core/history"
	"ramet/internal/operation"
)

// Route is one line of the table, which is the one source of what the server answers,
// who may ask, how much a body may have, and what the OpenAPI document says.
type Route struct {
	Method string // GET answers HEAD too, unless Stream or Once
	Path   string // parts in braces are parameters; a last one like {path...} takes the rest
	Access Access
	Limit  int64 // most bytes of a body, which is JSON; 0: there is none
	Stream bool  // answers for as long as it likes, and sets its own write deadlines
	Once   bool  // HEAD is refused: a GET that uses something up (/login)
	Doc    Doc
	Serve  func(*Call) error // an error becomes the answer, if nothing was written yet
	number int               // in the tables of projects, from 1 on; 0: it is a route of the server itself
}

// Access selects the clients that may call a route.
type Access int

// Guarded is the zero value, so that a forgotten field shuts and does not open.
const (
	Guarded   Access = iota // the token or a session
	Public                  // anybody whose Host and Origin are ours
	Processes               // as Guarded, and agents with their own tokens
)

// Doc documents a route in OpenAPI.
type Doc struct {
	ID      string // operationId
	Tag     string
	Summary string
	Query   []Param  // others are refused
	Input   any      // a zero value of the body's type, or a requestBody; nil: none
	Answers []Answer // when all goes well
}

// Param is a query parameter.
type Param struct {
	Name, About string
	Form        string   // string (empty), integer, boolean (0, 1), date-time, uuid
	Enum        []string // if only these
}

// Answer is an answer that a route gives when all goes well.
type Answer struct {
	Status int
	About  string
	Media  string // application/json if empty
	Body   any    // a zero value of its type; nil: none, or not JSON
}

// None is the type of a body that is not there.
type None struct{}

// Does completes a route that reads In and answers status with Out, both JSON. The
// types become those of the document, so that it says what the code does. A field that
// In does not have is refused.
func Does[In, Out any](r Route, status int, do func(*Call, In) (Out, error)) Route {
	var in In
	var out Out
	var body any = out
	if reflect.TypeFor[Out]() == reflect.TypeFor[None]() {
		body = nil
	}
	none := reflect.TypeFor[In]() == reflect.TypeFor[None]()
	if !none {
		r.Doc.Input = in
		if r.Limit == 0 {
			r.Limit = smallBody
		}
	}
	r.Doc.Answers = append([]Answer{{Status: status, About: http.StatusText(status), Body: body}}, r.Doc.Answers...)
	r.Serve = func(c *Call) error {
		in := in
		if !none {
			if err := c.decode(&in); err != nil {
				return err
			}
		}
		out, err := do(c, in)
		if err != nil {
			return err
		}
		if body == nil {
			return c.Text(status, "", nil)
		}
		return c.JSON(status, out)
	}
	return r
}

const (
	smallBody  = 64 << 10
	recordBody = 1 << 20
	batchBody  = 16 << 20
)

// Call is one request, past the gate: its sender may ask, its route is known, its
// query has only parameters of the route, once each, and its body is there, whole.
type Call struct {
	Writer  http.ResponseWriter
	Request *http.Request
	Body    []byte // JSON of bounded depth; nil if the route takes none
	query   url.Values
	params  map[string]string
	by      sender
	agent   id.Agent // whose token it has, if by is process
	project *Project // nil for routes of the server itself that no open project was named to
	prefix  string   // of the path: /p/KEY, or empty
	key     string   // of the prefix
}

// Context ends when the client goes or the server stops. What is written with it is the
// caller's doing.
func (c *Call) Context() context.Context { return history.By(c.Request.Context(), c.actor()) }

// actor returns the person who asks. A session of the page began with the token.
func (c *Call) actor() history.Actor {
	if c.by == visitor {
		return history.Actor{Who: "token holder", Face: history.Page}
	}
	return history.Actor{Who: "token holder", Face: history.HTTP}
}

// Param returns a part of the path: not empty, not a dot or two, without slashes and control
// characters, but otherwise as the client wrote it.
func (c *Call) Param(name string) string { return c.params[name] }

// Query returns a query parameter, or empty.
func (c *Call) Query(name string) string { return c.query.Get(name) }

// Has reports whether the parameter was given, even if empty.
func (c *Call) Has(name string) bool { return c.query.Has(name) }

// Number returns a query parameter from low to high, or otherwise if it was not given.
func (c *Call) Number(name string, low, high, otherwise int64) (int64, error) {
	if !c.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(c.Query(name), 10, 64)
	if err != nil || n < low || n > high {
		return 0, badQuery(name, "must be a number from "+strconv.FormatInt(low, 10)+" to "+strconv.FormatInt(high, 10), "")
	}
	return n, nil
}

// Flag returns a query parameter that is 0 or 1; not given is 0.
func (c *Call) Flag(name string) (bool, error) {
	n, err := c.Number(name, 0, 1, 0)
	return n == 1, err
}

// JSON answers. The value is encoded before anything is sent, so that what cannot be
// encoded is an error and not half an answer.
func (c *Call) JSON(status int, v any) error {
	text, err := encode(v)
	if err != nil {
		return fault.New(fault.Failed, "encode the answer: %w", err)
	}
	send(c.Writer, status, "application/json", text)
	return nil
}

// Text answers with text of a media type; an empty one answers with nothing.
func (c *Call) Text(status int, media string, text []byte) error {
	send(c.Writer, status, media, text)
	return nil
}

// encode leaves <, > and & alone: the answer is never read as HTML (nosniff).
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// writeTime limits the time in which a client accepts an answer.
const writeTime = 30 * time.Second

func send(w http.ResponseWriter, status int, media string, body []byte) {
	// Writers that have no deadlines are those of tests.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	if media != "" {
		w.Header().Set("Content-Type", media)
	}
	if status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	// A client that does not read the answer is gone.
	_, _ = w.Write(body)
}

// MCP answers requests of the Model Context Protocol. The agent is who asks; empty: the
// person who holds the token.
type MCP interface {
	ServeMCP(w http.ResponseWriter, r *http.Request, by id.Agent)
}

// mcpBody is the most bytes of a request over MCP: a prompt, and what is around it.
const mcpBody = 4 << 20

func mcpRoute(server MCP) Route {
	return Route{Method: http.MethodPost, Path: "/mcp", Access: Processes, Limit: mcpBody, Stream: true, Serve: func(c *Call) error { return c.serveMCP(server) },
		Doc: Doc{ID: "callMCP", Tag: "mcp", Summary: "Speak the Model Context Protocol (streamable HTTP, without sessions): one JSON-RPC message",
			Input: json.RawMessage{}, Answers: []Answer{
				{Status: http.StatusOK, About: "A JSON-RPC response", Body: json.RawMessage{}},
				{Status: http.StatusAccepted, About: "A notification was taken"}}}}
}

func (c *Call) serveMCP(server MCP) error {
	if server == nil {
		return notHere("mcp server")
	}
	r := c.Request.Clone(c.Request.Context())
	r.Body = io.NopCloser(bytes.NewReader(c.Body))
	server.ServeMCP(c.Writer, r, c.agent)
	return nil
}

type requestBody struct {
	name  string
	shape *shape.Shape
}

func (a Agents) operationRoutes() (out []Route) {
	for _, o := range operation.All() {
		if o.Describe().Faces&operation.HTTP != 0 {
			out = append(out, a.operationRoute(o))
		}
	}
	snapshot := a.operationRoute(&operation.ShowRun) // under its older path too
	snapshot.Path += "/snapshot"
	snapshot.Doc.ID = "getSnapshot"
	return append(out, snapshot)
}

// operationRoute derives the route of one operation. A GET has its fields in the query, any other
// method in the body; those that the path names are in neither.
func (a Agents) operationRoute(o operation.Operation) Route {
	d := o.Describe()
	method, path, status, fields := parseRoute(d.Route)
	r := Route{Method: method, Path: path, Doc: Doc{ID: d.ID, Tag: d.Group, Summary: d.Summary}}
	var named []string
	for _, field := range fields {
		named = append(named, field)
	}
	if method == http.MethodGet {
		r.Doc.Query = queryOf(o, named)
	} else {
		r.Limit = smallBody
		if slices.ContainsFunc(operation.Offered(o, operation.HTTP), func(p operation.Param) bool {
			return p.Type == reflect.TypeFor[operation.Text]() || p.Type == reflect.TypeFor[operation.Pairs]()
		}) {
			r.Limit = recordBody
		}
		r.Doc.Input = requestBody{reflect.TypeOf(o.New()).Elem().Name(), operation.Shape(o, operation.HTTP, named...)}
	}
	r.Doc.Answers = []Answer{{Status: status, About: http.StatusText(status), Body: reflect.Zero(o.Answer(operation.HTTP)).Interface()}}
	r.Serve = func(c *Call) error {
		if a.Client == nil {
			return notHere("kernel")
		}
		in := o.New()
		if err := c.bind(o, in, fields, named); err != nil {
			return c.explain(o, err)
		}
		out, err := a.Client.Call(c.Context(), o, in)
		if err != nil {
			return c.explain(o, err)
		}
		return c.JSON(status, o.Result(operation.HTTP, in, out).JSON)
	}
	return r
}

// parseRoute reads the route of a Doc. fields has the field that each parameter of the path fills.
func parseRoute(route string) (method, path string, status int, fields map[string]string) {
	words := strings.Fields(route)
	fields = map[string]string{}
	parts := strings.Split(words[1], "/")
	for i, part := range parts {
		if name, field, ok := strings.Cut(strings.Trim(part, "{}"), "="); ok {
			fields[name], parts[i] = field, "{"+name+"}"
		}
	}
	status, _ = strconv.Atoi(words[2])
	return words[0], strings.Join(parts, "/"), status, fields
}

func queryOf(o operation.Operation, named []string) (out []Param) {
	for _, p := range operation.Offered(o, operation.HTTP) {
		if slices.Contains(named, p.Name) {
			continue
		}
		one := Param{Name: p.Name, About: operation.Expand(o, operation.HTTP, p.Help), Enum: p.Words()}
		switch p.Type.Kind() {
		case reflect.Bool:
			one.Form = "boolean"
		case reflect.Int, reflect.Int64:
			one.Form = "integer"
		}
		out = append(out, one)
	}
	return out
}

// bind fills an input from the path, and the query or the body.
func (c *Call) bind(o operation.Operation, in any, fields map[string]string, named []string) error {
	if c.Body != nil {
		var members map[string]jsontext.Value
		if err := c.decode(&members); err != nil { // no object, or no JSON at all
			return err
		}
		if err := operation.Decode(o, operation.HTTP, c.Body, in, named...); err != nil {
			return err
		}
	}
	for _, p := range operation.Offered(o, operation.HTTP) {
		for name, field := range fields {
			if field == p.Name {
				if err := p.Set(in, c.Param(name)); err != nil {
					f, _ := fault.Of(err) // there is no place of the body to point at
					return f
				}
			}
		}
		if c.Body != nil || !c.Has(p.Name) || slices.Contains(named, p.Name) {
			continue
		}
		if p.Type.Kind() == reflect.Bool { // 0 or 1, as every flag of a query
			if _, err := c.Flag(p.Name); err != nil {
				return err
			}
		}
		if err := p.Set(in, c.Query(p.Name)); err != nil {
			about := err.Error()
			if e, ok := errors.AsType[*operation.FieldError](err); ok && e.About != "" {
				about = e.About
			}
			return badQuery(p.Name, about, "")
		}
	}
	return operation.SetDefaults(o, operation.HTTP, in)
}

// explain answers an error that a field caused with a pointer to the field.
func (c *Call) explain(o operation.Operation, err error) error {
	e, ok := errors.AsType[*operation.FieldError](operation.Explain(o, operation.HTTP, err))
	if !ok {
		return err
	}
	out := answerOf(e.Fault)
	if c.Body == nil {
		if e.Fault.Code == fault.InvalidField || e.Fault.Code == fault.Usage {
			return badQuery(e.Field, strings.TrimPrefix(out.Message, e.Field+" "), e.Suggestion)
		}
		return out
	}
	if e.Fault.Code != fault.Conflict {
		out.status = http.StatusUnprocessableEntity
	}
	detail := Detail{Pointer: "/" + jsonschema.Escape(operation.GivenName(o, e.Field, c.Body)), Message: cmp.Or(e.About, out.Message), Suggestion: e.Suggestion}
	if e.Field == "" {
		detail.Pointer = ""
	}
	if e.Fault.Code == fault.InvalidField {
		out.Message = strings.TrimSpace(detail.Pointer + " " + detail.Message)
	}
	out.Details = append(out.Details, detail)
	return out
}
