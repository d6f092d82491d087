package httpapi

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"ramet/internal/base/shape"
	"ramet/internal/base/text"
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
	if version == "" {
		version = "0"
	}
	return Schema{
		"openapi": "3.1.0",
		"info": Schema{"title": "ramet", "version": version,
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
	about := a.About
	if about == "" {
		about = http.StatusText(a.Status)
	}
	out := Schema{"description": about}
	switch {
	case a.Body != nil:
		media := a.Media
		if media == "" {
			media = "application/json"
		}
		out["content"] = Schema{media: Schema{"schema": types.Of(reflect.TypeOf(a.Body)).Schema()}}
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
