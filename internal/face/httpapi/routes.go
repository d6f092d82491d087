package httpapi

import (
	"net/http"
	"reflect"
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
			return c.empty(status)
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
