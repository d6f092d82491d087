package httpapi

import (
	"reflect"

	"ramet/internal/base/shape"
	"ramet/internal/telemetry"
)

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
