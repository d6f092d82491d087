package httpapi

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/telemetry"
)

var pathParam = text.Regexp(`\{([a-z_]+)(\.\.\.)?\}`)

func document(table []Route, version string) Schema {
	types := newTypes()
	failure := types.Of(reflect.TypeFor[Error]()).Schema()
	paths := map[string]Schema{}
	for _, r := range table {
		at := pathParam().ReplaceAllString(r.Path, "{$1}")
		if paths[at] == nil {
			paths[at] = Schema{}
		}
		paths[at][strings.ToLower(r.Method)] = describeRoute(types, r, failure)
	}
	return Schema{
		"openapi": "3.1.0",
		"info": Schema{"title": "ramet", "version": cmp.Or(version, "0"),
			"description": "Telemetry, runs, the ledger and agents of ramet. All routes but /health and /login need the token of $RAMET_HOME/token, or a session."},
		"servers":  []any{Schema{"url": "http://" + DefaultAddr}},
		"security": []any{Schema{"token": []string{}}, Schema{"session": []string{}}},
		"paths":    paths,
		"components": Schema{
			"schemas": types.Schemas(),
			"securitySchemes": Schema{
				"token":   Schema{"type": "http", "scheme": "bearer"},
				"session": Schema{"type": "apiKey", "in": "cookie", "name": cookieName},
			},
		},
	}
}

func describeRoute(types *shape.Types, r Route, failure map[string]any) Schema {
	out := Schema{"operationId": r.Doc.ID, "summary": r.Doc.Summary, "tags": []string{r.Doc.Tag}}
	if r.Access == Public {
		out["security"] = []any{}
	}
	params := []any{}
	for _, m := range pathParam().FindAllStringSubmatch(r.Path, -1) {
		params = append(params, Schema{"name": m[1], "in": "path", "required": true, "schema": Schema{"type": "string"}})
	}
	for _, p := range r.Doc.Query {
		params = append(params, parameter(p))
	}
	if len(params) > 0 {
		out["parameters"] = params
	}
	if r.Doc.Input != nil {
		form, ok := r.Doc.Input.(requestBody)
		if !ok {
			form.shape = types.Of(reflect.TypeOf(r.Doc.Input))
		} else {
			form.shape = types.Named(form.name, form.shape)
		}
		out["requestBody"] = Schema{"required": true, "content": Schema{"application/json": Schema{"schema": form.shape.Schema()}}}
	}
	answers := Schema{"default": Schema{"description": "What is wrong", "content": Schema{"application/json": Schema{"schema": failure}}}}
	for _, a := range r.Doc.Answers {
		answers[strconv.Itoa(a.Status)] = response(types, a)
	}
	out["responses"] = answers
	return out
}

func response(types *shape.Types, a Answer) Schema {
	out := Schema{"description": cmp.Or(a.About, http.StatusText(a.Status))}
	switch {
	case a.Body != nil:
		out["content"] = Schema{cmp.Or(a.Media, "application/json"): Schema{"schema": types.Of(reflect.TypeOf(a.Body)).Schema()}}
	case a.Media != "":
		out["content"] = Schema{a.Media: Schema{}}
	}
	return out
}

func parameter(p Param) Schema {
	form := shape.Text(0)
	switch {
	case p.Enum != nil:
		form = shape.Enum(p.Enum...)
	case p.Form == "integer":
		form = shape.Whole()
	case p.Form == "boolean":
		form = shape.Range(0, 1)
	case p.Form != "":
		form = form.Format(p.Form)
	}
	out := Schema{"name": p.Name, "in": "query", "schema": form.Schema()}
	if p.About != "" {
		out["description"] = p.About
	}
	return out
}

// The schemas of the OpenAPI document are made from the types that are read and written
// (shape.Types). A library that also serves the routes (huma) was tried and left out: it can
// not say that a field is an object or null, which several of ours are, it reads bodies before
// we have looked at their depth, and it answers errors in a form of its own.

// Schema is a part of the document.
type Schema map[string]any

func newTypes() *shape.Types {
	return &shape.Types{Prefix: "#/components/schemas/", Words: map[reflect.Type][]string{
		reflect.TypeFor[telemetry.Status]():  words(telemetry.Statuses()...),
		reflect.TypeFor[telemetry.JobType](): words(telemetry.JobTypes()...),
		reflect.TypeFor[telemetry.Outcome](): words(telemetry.Created, telemetry.Duplicate),
	}}
}

func words[T ~string](list ...T) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = string(one)
	}
	return out
}

// RunInput describes the body that telemetry.ParseNew reads.
type RunInput struct{}

// RunPatch stands for the body that telemetry.ParsePatch reads.
type RunPatch struct{}

// BatchInput stands for the body that telemetry.ParseBatch reads.
type BatchInput struct{}

func (RunInput) Shape(types *shape.Types) *shape.Shape {
	var fields []shape.Field
	for _, f := range telemetry.Inputs() {
		one := shape.Field{Name: f.Name, Shape: input(types, f), Optional: !f.Must}
		switch {
		case f.Must:
		case f.Service:
			one.Shape = shape.Any().With("ignored: the service makes it").OrNull()
		default:
			one.Shape = one.Shape.OrNull()
		}
		fields = append(fields, one)
	}
	return shape.Object(fields...)
}

func (RunPatch) Shape(types *shape.Types) *shape.Shape {
	var fields []shape.Field
	for _, f := range telemetry.Inputs() {
		if f.Fixed || f.Service {
			continue
		}
		one := input(types, f)
		if f.Empties {
			one = one.OrNull()
		}
		fields = append(fields, shape.May(f.Name, one))
	}
	return shape.Object(fields...).AtLeast(1)
}

func (BatchInput) Shape(types *shape.Types) *shape.Shape {
	// What is wrong with one record is said of that record alone.
	return shape.Object(shape.Must("runs", shape.List(types.Of(reflect.TypeFor[RunInput]())).AtMost(telemetry.MaxBatch)))
}

// input returns the shape of a field of a record as a client may send it.
func input(types *shape.Types, f telemetry.Input) *shape.Shape {
	switch {
	case f.Form == telemetry.Count:
		return shape.Integer(0)
	case f.Form == telemetry.Object:
		return shape.Either(shape.Open(), shape.Text(0)).With("an object, or a string that contains one")
	case f.Name == "event_id":
		return shape.Text(0).Format("uuid")
	case f.Name == "status":
		return shape.Enum(telemetry.StatusWords()...)
	}
	types.Of(reflect.TypeFor[telemetry.Record]())
	all := types.Fields(reflect.TypeFor[telemetry.Record]())
	if i := slices.IndexFunc(all, func(one shape.Field) bool { return one.Name == f.Name }); i >= 0 {
		return all[i].Shape
	}
	return shape.Any()
}
