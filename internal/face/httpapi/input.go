package httpapi

import (
	"reflect"
	"slices"

	"ramet/internal/base/shape"
	"ramet/internal/telemetry"
)

// RunInput stands in the document for the body that telemetry.ParseNew reads.
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

// input is a field of a record as a client may send it.
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
