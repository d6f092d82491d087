package otlp

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// scope is the name under which the spans were made.
const scope = "ramet/internal/telemetry"

// Numbers of fields, as in opentelemetry/proto/trace/v1/trace.proto and
// common/v1/common.proto.

func encodeProto(resource []Attribute, spans []span) []byte {
	var sender []byte
	for _, a := range resource {
		sender = data(sender, 1, keyValue(attribute{a.Key, a.Value}))
	}
	var scoped []byte
	scoped = data(scoped, 1, data(nil, 1, scope))
	for _, s := range spans {
		scoped = data(scoped, 2, s.proto())
	}
	all := data(nil, 1, sender)
	all = data(all, 2, scoped)
	return data(nil, 1, all)
}

func (s span) proto() []byte {
	b := data(nil, 1, s.trace)
	b = data(b, 2, s.id)
	if len(s.parent) > 0 {
		b = data(b, 4, s.parent)
	}
	b = data(b, 5, s.name)
	b = number(b, 6, uint64(s.kind()))
	b = fixed(b, 7, unixNano(s.start))
	b = fixed(b, 8, unixNano(s.end))
	for _, a := range s.attributes {
		b = data(b, 9, keyValue(a))
	}
	var status []byte
	if s.message != "" {
		status = data(status, 2, s.message)
	}
	if s.status != 0 {
		status = number(status, 3, uint64(s.status))
	}
	return data(b, 15, status)
}

// kind returns the kind of the span: internal or client.
func (s span) kind() int {
	if s.client {
		return 3
	}
	return 1
}

func unixNano(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func keyValue(a attribute) []byte { return data(data(nil, 1, a.key), 2, anyValue(a.value)) }

func anyValue(v any) []byte {
	switch v := v.(type) {
	case bool:
		var yes uint64
		if v {
			yes = 1
		}
		return number(nil, 2, yes)
	case int64:
		return number(nil, 3, uint64(v))
	case float64:
		return fixed(nil, 4, math.Float64bits(v))
	case []string:
		var list []byte
		for _, s := range v {
			list = data(list, 1, anyValue(s))
		}
		return data(nil, 5, list)
	case string:
		return data(nil, 1, v)
	}
	return nil
}

type object = map[string]any

// encodeJSON encodes spans as OTLP's JSON: ids are hex, 64-bit numbers are text.
func encodeJSON(resource []Attribute, spans []span) []byte {
	sender := []object{}
	for _, a := range resource {
		sender = append(sender, jsonPair(attribute{a.Key, a.Value}))
	}
	list := []object{}
	for _, s := range spans {
		attributes := []object{}
		for _, a := range s.attributes {
			attributes = append(attributes, jsonPair(a))
		}
		status := object{}
		if s.message != "" {
			status["message"] = s.message
		}
		if s.status != 0 {
			status["code"] = s.status
		}
		one := object{"traceId": hex.EncodeToString(s.trace), "spanId": hex.EncodeToString(s.id), "name": s.name, "kind": s.kind(),
			"startTimeUnixNano": strconv.FormatUint(unixNano(s.start), 10), "endTimeUnixNano": strconv.FormatUint(unixNano(s.end), 10),
			"attributes": attributes, "status": status}
		if len(s.parent) > 0 {
			one["parentSpanId"] = hex.EncodeToString(s.parent)
		}
		list = append(list, one)
	}
	out, err := json.Marshal(object{"resourceSpans": []object{{"resource": object{"attributes": sender},
		"scopeSpans": []object{{"scope": object{"name": scope}, "spans": list}}}}})
	if err != nil {
		panic("otlp: " + err.Error()) // numbers come from JSON, so they are finite
	}
	return out
}

func jsonPair(a attribute) object { return object{"key": a.key, "value": jsonValue(a.value)} }

func jsonValue(v any) object {
	switch v := v.(type) {
	case bool:
		return object{"boolValue": v}
	case int64:
		return object{"intValue": strconv.FormatInt(v, 10)}
	case float64:
		return object{"doubleValue": v}
	case []string:
		list := []object{}
		for _, s := range v {
			list = append(list, jsonValue(s))
		}
		return object{"arrayValue": object{"values": list}}
	case string:
		return object{"stringValue": v}
	}
	return object{}
}

// The wire format of protocol buffers, as far as spans need it. The library for it is what tests
// read with; before main it looks at the program's file, and every command would wait for that.

// kind is the form in which the value of a field is written.
type kind uint64

// The kinds.
const (
	varint  kind = 0
	fixed64 kind = 1
	lengthy kind = 2
	begins  kind = 3 // a group, as they were written once
	ends    kind = 4
	fixed32 kind = 5
)

// head writes the number of the field that follows, and its kind.
func head(b []byte, field int, k kind) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(k))
}

func number(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(head(b, field, varint), v)
}

func fixed(b []byte, field int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(head(b, field, fixed64), v)
}

func data[T []byte | string](b []byte, field int, value T) []byte {
	return append(binary.AppendUvarint(head(b, field, lengthy), uint64(len(value))), value...)
}

// each goes through the fields of a message, as far as it is one, and passes groups by: v is the
// value of a varint, value that of another kind.
func each(b []byte, do func(field int, k kind, v uint64, value []byte)) {
	var within []uint64 // groups
	for len(b) > 0 {
		first, n := binary.Uvarint(b)
		field, k := first>>3, kind(first&7)
		if n <= 0 || field == 0 || field > mostField {
			return
		}
		b = b[n:]
		switch last := len(within) - 1; {
		case k == begins:
			within = append(within, field)
			continue
		case k == ends && (last < 0 || within[last] != field):
			return
		case k == ends:
			within = within[:last]
			continue
		}
		v, length, n := extent(b, k)
		if n < 0 || length > uint64(len(b)-n) {
			return
		}
		b = b[n:]
		if len(within) == 0 {
			do(int(field), k, v, b[:length])
		}
		b = b[length:]
	}
}

// mostField is the largest number of a field.
const mostField = 1<<29 - 1

// extent returns the value of a varint, or how many bytes of another value follow the n that say so;
// n is negative where neither can be read.
func extent(b []byte, k kind) (v, length uint64, n int) {
	switch k {
	case varint:
		if v, n = binary.Uvarint(b); n <= 0 {
			n = -1
		}
	case lengthy:
		if length, n = binary.Uvarint(b); n <= 0 {
			n = -1
		}
	case fixed64:
		length = 8
	case fixed32:
		length = 4
	default:
		n = -1
	}
	return v, length, n
}

// rejected reads the number of spans that a collector rejected from a protobuf answer.
func rejected(answer []byte) int64 {
	var n int64
	each(answer, func(field int, k kind, _ uint64, inner []byte) {
		if field != 1 || k != lengthy {
			return
		}
		each(inner, func(field int, k kind, v uint64, _ []byte) {
			if field == 1 && k == varint && v < 1<<31 {
				n = int64(v)
			}
		})
	})
	return n
}
