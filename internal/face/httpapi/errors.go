package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/jsonschema"
	"ramet/internal/telemetry"
)

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

// Error is the message.
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

// answerOf is the answer to an error. Only faults were written for users: of anything
// else nothing is told.
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
