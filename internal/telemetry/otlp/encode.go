package otlp

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
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

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func fixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

func data[T []byte | string](b []byte, field protowire.Number, value T) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), string(value))
}

// rejected reads the number of spans that a collector rejected from a protobuf answer.
func rejected(answer []byte) int64 {
	inner, _ := protowire.ConsumeBytes(lastField(answer, 1, protowire.BytesType))
	n, _ := protowire.ConsumeVarint(lastField(inner, 1, protowire.VarintType))
	if n >= 1<<31 {
		return 0
	}
	return int64(n)
}

// lastField returns the last value of a field in a message, as far as it is one.
func lastField(b []byte, field protowire.Number, kind protowire.Type) (value []byte) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			break
		}
		length := protowire.ConsumeFieldValue(num, typ, b[n:])
		if length < 0 {
			break
		}
		if num == field && typ == kind {
			value = b[n : n+length]
		}
		b = b[n+length:]
	}
	return value
}
