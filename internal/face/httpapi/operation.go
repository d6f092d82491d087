package httpapi

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/jsonschema"
	"ramet/internal/base/shape"
	"ramet/internal/operation"
)

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
