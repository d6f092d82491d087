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
	var who []byte
	for _, a := range resource {
		who = message(who, 1, keyValue(attribute{a.Key, a.Value}))
	}
	var scoped []byte
	scoped = message(scoped, 1, text(nil, 1, scope))
	for _, s := range spans {
		scoped = message(scoped, 2, s.proto())
	}
	all := message(nil, 1, who)
	all = message(all, 2, scoped)
	return message(nil, 1, all)
}

func (s span) proto() []byte {
	b := data(nil, 1, s.trace)
	b = data(b, 2, s.id)
	if len(s.parent) > 0 {
		b = data(b, 4, s.parent)
	}
	b = text(b, 5, s.name)
	b = protowire.AppendTag(b, 6, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(s.kind()))
	b = protowire.AppendTag(b, 7, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, nano(s.start))
	b = protowire.AppendTag(b, 8, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, nano(s.end))
	for _, a := range s.attributes {
		b = message(b, 9, keyValue(a))
	}
	var status []byte
	if s.message != "" {
		status = text(status, 2, s.message)
	}
	if s.status != 0 {
		status = protowire.AppendTag(status, 3, protowire.VarintType)
		status = protowire.AppendVarint(status, uint64(s.status))
	}
	return message(b, 15, status)
}

// kind of the span: internal or client.
func (s span) kind() int {
	if s.client {
		return 3
	}
	return 1
}

func nano(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func keyValue(a attribute) []byte { return message(text(nil, 1, a.key), 2, anyValue(a.value)) }

func anyValue(v any) []byte {
	switch v := v.(type) {
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), protowire.EncodeBool(v))
	case int64:
		return protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(v))
	case float64:
		return protowire.AppendFixed64(protowire.AppendTag(nil, 4, protowire.Fixed64Type), math.Float64bits(v))
	case []string:
		var list []byte
		for _, s := range v {
			list = message(list, 1, anyValue(s))
		}
		return message(nil, 5, list)
	case string:
		return text(nil, 1, v)
	}
	return nil
}

func message(b []byte, field protowire.Number, inner []byte) []byte { return data(b, field, inner) }

func data(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func text(b []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), value)
}

type object = map[string]any

// encodeJSON is the same in OTLP's JSON: ids are hex, 64-bit numbers are text.
func encodeJSON(resource []Attribute, spans []span) []byte {
	who := []object{}
	for _, a := range resource {
		who = append(who, jsonPair(attribute{a.Key, a.Value}))
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
			"startTimeUnixNano": strconv.FormatUint(nano(s.start), 10), "endTimeUnixNano": strconv.FormatUint(nano(s.end), 10),
			"attributes": attributes, "status": status}
		if len(s.parent) > 0 {
			one["parentSpanId"] = hex.EncodeToString(s.parent)
		}
		list = append(list, one)
	}
	out, err := json.Marshal(object{"resourceSpans": []object{{"resource": object{"attributes": who},
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

// rejected reads how many spans a collector did not take, out of a protobuf answer.
func rejected(answer []byte) int64 {
	var n int64
	each(answer, func(field protowire.Number, kind protowire.Type, value []byte) {
		if field == 1 && kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(value)
			each(inner, func(field protowire.Number, kind protowire.Type, value []byte) {
				if v, ok := protowire.ConsumeVarint(value); field == 1 && kind == protowire.VarintType && ok > 0 && v < 1<<31 {
					n = int64(v)
				}
			})
		}
	})
	return n
}

// each goes through the fields of a message, as far as it is one.
func each(b []byte, do func(protowire.Number, protowire.Type, []byte)) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(field, kind, b); n < 0 {
			return
		}
		do(field, kind, b[:n])
		b = b[n:]
	}
}
