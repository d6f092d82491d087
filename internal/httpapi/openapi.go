package httpapi

import (
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

var pathParam = regexp.MustCompile(`\{([a-z_]+)(\.\.\.)?\}`)

func document(table []Route, version string) Schema {
	types := newSchemas()
	failure := types.of(reflect.TypeFor[Error]())
	paths := map[string]Schema{}
	for _, r := range table {
		at := pathParam.ReplaceAllString(r.Path, "{$1}")
		if paths[at] == nil {
			paths[at] = Schema{}
		}
		paths[at][strings.ToLower(r.Method)] = operation(types, r, failure)
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
			"schemas": types.named,
			"securitySchemes": Schema{
				"token":   Schema{"type": "http", "scheme": "bearer"},
				"session": Schema{"type": "apiKey", "in": "cookie", "name": cookieName},
			},
		},
	}
}

func operation(types *schemas, r Route, failure Schema) Schema {
	out := Schema{"operationId": r.Doc.ID, "summary": r.Doc.Summary, "tags": []string{r.Doc.Tag}}
	if r.Access == Public {
		out["security"] = []any{}
	}
	params := []any{}
	for _, m := range pathParam.FindAllStringSubmatch(r.Path, -1) {
		params = append(params, Schema{"name": m[1], "in": "path", "required": true, "schema": Schema{"type": "string"}})
	}
	for _, p := range r.Doc.Query {
		params = append(params, parameter(p))
	}
	if len(params) > 0 {
		out["parameters"] = params
	}
	if r.Doc.Input != nil {
		out["requestBody"] = Schema{"required": true, "content": Schema{
			"application/json": Schema{"schema": types.of(reflect.TypeOf(r.Doc.Input))}}}
	}
	answers := Schema{"default": Schema{"description": "What is wrong", "content": Schema{"application/json": Schema{"schema": failure}}}}
	for _, a := range r.Doc.Answers {
		answers[strconv.Itoa(a.Status)] = response(types, a)
	}
	out["responses"] = answers
	return out
}

func response(types *schemas, a Answer) Schema {
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
		out["content"] = Schema{media: Schema{"schema": types.of(reflect.TypeOf(a.Body))}}
	case a.Media != "":
		out["content"] = Schema{a.Media: Schema{}}
	}
	return out
}

func parameter(p Param) Schema {
	shape := Schema{"type": "string"}
	switch p.Form {
	case "integer":
		shape["type"] = "integer"
	case "boolean":
		shape = Schema{"type": "integer", "enum": []int{0, 1}}
	case "date-time", "uuid":
		shape["format"] = p.Form
	}
	if p.Enum != nil {
		shape["enum"] = p.Enum
	}
	out := Schema{"name": p.Name, "in": "query", "schema": shape}
	if p.About != "" {
		out["description"] = p.About
	}
	return out
}
