package httpapi

import (
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/jsonschema"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/telemetry"
)

// maxDepth limits the nesting of a JSON body: deeper than any of ours.
const maxDepth = 64

func deep() *Error {
	message := "is nested deeper than " + strconv.Itoa(maxDepth) + " levels"
	return Refuse(http.StatusBadRequest, codeBadJSON, "the body "+message, Detail{Message: message})
}

// tooDeep counts brackets outside of strings. It is asked first, so that nothing
// recursive sees a text that is too deep.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// syntaxError returns the position of a syntax error, without the text there.
func syntaxError(err error) *Error {
	detail := Detail{Message: "is not JSON"}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		detail.Pointer = string(s.JSONPointer)
		detail.Message = "is not JSON at byte " + strconv.FormatInt(s.ByteOffset, 10)
		if s.Err != nil {
			detail.Message += ": " + s.Err.Error()
		}
	} else if err != nil {
		detail.Message += ": " + err.Error()
	}
	return Refuse(http.StatusBadRequest, codeBadJSON, "the body "+detail.Message, detail)
}

// decode reads the body into a struct; fields that it does not have are refused.
func (c *Call) decode(into any) error {
	err := json.Unmarshal(c.Body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	s, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return syntaxError(err)
	}
	pointer := string(s.JSONPointer)
	detail := Detail{Pointer: pointer, Message: "does not have the right form"}
	switch {
	case errors.Is(s.Err, json.ErrUnknownName):
		name := pointer[strings.LastIndexByte(pointer, '/')+1:]
		detail.Message = "no such field here"
		if s.GoType != nil {
			detail.Suggestion = text.NearestWord(name, shape.Names(s.GoType))
		}
	case s.GoType != nil:
		detail.Message = "must be " + kindName(s.GoType)
	}
	return Refuse(http.StatusUnprocessableEntity, fault.InvalidField, strings.TrimSpace(pointer+" "+detail.Message), detail)
}

func kindName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "an integer"
}

// Codes that only HTTP has; all others are those of package fault.
const (
	codeUnauthenticated fault.Code = "UNAUTHENTICATED"        // 401
	codeForeignHost     fault.Code = "FOREIGN_HOST"           // 421
	codeCrossOrigin     fault.Code = "CROSS_ORIGIN"           // 403
	codeMethod          fault.Code = "METHOD_NOT_ALLOWED"     // 405
	codeTooLarge        fault.Code = "BODY_TOO_LARGE"         // 413
	codeMedia           fault.Code = "UNSUPPORTED_MEDIA_TYPE" // 415
	codeSlow            fault.Code = "REQUEST_TIMEOUT"        // 408
	codeBadJSON         fault.Code = "INVALID_JSON"           // 400
	codeInternal        fault.Code = "INTERNAL"               // 500
)

// Error is an answer that says what is wrong.
type Error struct {
	status  int
	allow   string     // the methods that there are, for 405
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Details []Detail   `json:"details"`
}

// Detail is one thing that is wrong with a request.
type Detail struct {
	Pointer    string `json:"pointer"` // JSON pointer into the body, or /query/NAME
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Refuse makes an answer with a status of its own.
func Refuse(status int, code fault.Code, message string, details ...Detail) *Error {
	if details == nil {
		details = []Detail{}
	}
	return &Error{status: status, Code: code, Message: message, Details: details}
}

func badQuery(name, message, suggestion string) *Error {
	return Refuse(http.StatusBadRequest, fault.InvalidField, name+" "+message, Detail{"/query/" + jsonschema.Escape(name), message, suggestion})
}

// answerOf returns the answer to an error. Only faults were written for users: no other error
// is shown.
func answerOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	f, ok := fault.Of(err)
	if !ok {
		return Refuse(http.StatusInternalServerError, codeInternal, "something failed inside ramet")
	}
	e := Refuse(statusOf(f.Code), f.Code, f.Error())
	for _, one := range telemetry.Details(err) {
		e.Details = append(e.Details, Detail(one))
	}
	if telemetry.Malformed(err) {
		e.status, e.Code = http.StatusBadRequest, codeBadJSON
	}
	if len(e.Details) > 0 && strings.HasPrefix(e.Details[0].Pointer, "/query/") {
		e.status = http.StatusBadRequest
	}
	return e
}

func statusOf(code fault.Code) int {
	switch code {
	case fault.Usage, fault.InvalidID:
		return http.StatusBadRequest
	case fault.InvalidName, fault.InvalidLabel, fault.InvalidText, fault.InvalidKind, fault.InvalidConfig,
		fault.InvalidEvent, fault.InvalidRecipe, fault.InvalidField:
		return http.StatusUnprocessableEntity
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Denied, fault.Untrusted:
		return http.StatusForbidden
	case fault.StorageFull:
		return http.StatusInsufficientStorage
	case fault.StorageUnreachable, fault.Interrupted, fault.Cancelled:
		return http.StatusServiceUnavailable
	case fault.TimedOut:
		return http.StatusGatewayTimeout
	case fault.ProviderAuth, fault.ProviderRateLimit, fault.ProviderOverloaded, fault.ProviderBadRequest,
		fault.ProviderNotFound, fault.ProviderUnreachable, fault.ProviderProtocol, fault.ProviderContext, fault.StreamCut:
		return http.StatusBadGateway
	}
	switch fault.Exit(&fault.Error{Code: code}) {
	case 4, 5: // what is stored, or what it became, does not allow it; asking again does not help
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func notHere(what string) error {
	return fault.New(fault.NotFound, "this server has no %s", what)
}
