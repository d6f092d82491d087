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
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
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
		_, name, _ := cutLast(pointer)
		detail.Message = "no such field here"
		if s.GoType != nil {
			detail.Suggestion = text.NearestWord(name, shape.Names(s.GoType))
		}
	case s.GoType != nil:
		detail.Message = "must be " + kindName(s.GoType)
	}
	return Refuse(http.StatusUnprocessableEntity, fault.InvalidField, strings.TrimSpace(pointer+" "+detail.Message), detail)
}

func cutLast(pointer string) (before, last string, ok bool) {
	i := strings.LastIndexByte(pointer, '/')
	if i < 0 {
		return "", pointer, false
	}
	return pointer[:i], pointer[i+1:], true
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
