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

// message is a message of OTLP. Its fields have a number in protobuf, as in opentelemetry/proto/trace/v1/trace.proto
// and common/v1/common.proto, and a name in JSON.
type message []field

type field struct {
	number protowire.Number
	name   string
	value  any // string, bool, int, int64, float64, spanID, nanos, message or []message
}

type (
	spanID []byte // hex in JSON
	nanos  uint64 // since 1970; text in JSON, as all 64-bit numbers
)

func makeMessage(resource []Attribute, spans []span) message {
	sender, list := []message{}, []message{}
	for _, a := range resource {
		sender = append(sender, attribute{a.Key, a.Value}.fields())
	}
	for _, s := range spans {
		list = append(list, s.fields())
	}
	scoped := message{{1, "scope", message{{1, "name", scope}}}, {2, "spans", list}}
	return message{{1, "resourceSpans", []message{{{1, "resource", message{{1, "attributes", sender}}}, {2, "scopeSpans", []message{scoped}}}}}}
}

func (s span) fields() message {
	m := message{{1, "traceId", spanID(s.trace)}, {2, "spanId", spanID(s.id)}}
	if len(s.parent) > 0 {
		m = append(m, field{4, "parentSpanId", spanID(s.parent)})
	}
	kind := 1 // internal
	if s.client {
		kind = 3
	}
	attributes := []message{}
	for _, a := range s.attributes {
		attributes = append(attributes, a.fields())
	}
	status := message{}
	if s.message != "" {
		status = append(status, field{2, "message", s.message})
	}
	if s.status != 0 {
		status = append(status, field{3, "code", s.status})
	}
	return append(m, field{5, "name", s.name}, field{6, "kind", kind}, field{7, "startTimeUnixNano", unixNano(s.start)},
		field{8, "endTimeUnixNano", unixNano(s.end)}, field{9, "attributes", attributes}, field{15, "status", status})
}

func unixNano(t time.Time) nanos { return nanos(max(0, t.UnixNano())) }

func (a attribute) fields() message {
	return message{{1, "key", a.key}, {2, "value", message{anyValue(a.value)}}}
}

// anyValue returns the field of an AnyValue.
func anyValue(v any) field {
	switch v := v.(type) {
	case bool:
		return field{2, "boolValue", v}
	case int64:
		return field{3, "intValue", v}
	case float64:
		return field{4, "doubleValue", v}
	case []string:
		list := []message{}
		for _, s := range v {
			list = append(list, message{anyValue(s)})
		}
		return field{5, "arrayValue", message{{1, "values", list}}}
	}
	return field{1, "stringValue", v}
}

func (m message) appendProto(b []byte) []byte {
	for _, f := range m {
		switch v := f.value.(type) {
		case []message:
			for _, one := range v {
				b = appendBytes(b, f.number, one.appendProto(nil))
			}
		case message:
			b = appendBytes(b, f.number, v.appendProto(nil))
		case spanID:
			b = appendBytes(b, f.number, v)
		case string:
			b = appendBytes(b, f.number, []byte(v))
		case nanos:
			b = appendFixed(b, f.number, uint64(v))
		case float64:
			b = appendFixed(b, f.number, math.Float64bits(v))
		case int:
			b = appendVarint(b, f.number, uint64(v))
		case int64:
			b = appendVarint(b, f.number, uint64(v))
		case bool:
			b = appendVarint(b, f.number, protowire.EncodeBool(v))
		}
	}
	return b
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendFixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// MarshalJSON returns the message as OTLP's JSON.
func (m message) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for _, f := range m {
		switch v := f.value.(type) {
		case spanID:
			out[f.name] = hex.EncodeToString(v)
		case nanos:
			out[f.name] = strconv.FormatUint(uint64(v), 10)
		case int64:
			out[f.name] = strconv.FormatInt(v, 10)
		default:
			out[f.name] = v
		}
	}
	return json.Marshal(out)
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
